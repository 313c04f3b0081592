"""Secrets in declarations, plans, inventories, pairs of a name and a value, tables and mail sessions.

Each row of LINES and BLOCKS: (a text with its secret, the secret). A value of letters alone tells nothing by itself.
"""

from __future__ import annotations

from tests.host.masking.secret_lines import alnum

_WORD = "hun" + "ter2x"
_LETTERS = "correct" + "horse"
_LONG = alnum(24)

# The name says it all: {} is a password of letters, with and without a digit.
_STRONG = (
    'parser.add_argument("--hf-token", type=str, default="{}")',
    "p.add_argument('--password', '-p', required=False, default='{}', help='the password')",
    'variable "db_password" {{ default = "{}" }}',
    'variable "db_password" {{\n  type = string\n  default = "{}"\n}}',
    'variable "db_password" {{\n  description = "the password"\n  type        = string\n  default     = "{}"\n}}',
    '      ~ password             = "old" -> "{}"',
    '      ~ password             = "{}" -> "newOne"',
    "  password = <<EOT\n{}\nEOT",
    "  password = <<-EOT\n    {}\n  EOT",
    "key: DB_PASSWORD\nvalue: {}",
    "- key: DB_PASSWORD\n  value: {}\n  protected: true",
    "  - key: DB_PASSWORD\n    protected: true\n    value: {}",
    '"attributes": {{\n  "password": "{}",\n  "db_password": "{}"}}',
    '"master_password": {{\n      "value": "{}",\n      "type": "string"\n    }}',
    'OrderedDict([("db_password", "{}")])',
    "OrderedDict([('db_password', '{}')])",
    "--db-password\n{}\n--x",
    "python\ntrain.py\n--db-password\n{}",
    '"--db-password",\n"{}",\n"--x"',
    "  '--db-password',\n  '{}'",
    "USER      PASSWORD     HOST\nbea       {}   db1\njo        {}   db2",
    "NAME   PASSWORD\nx      {}",
    "DB_PASSWORD ?= {}",
    "DB_PASSWORD := {}",
    "DB_PASSWORD ::= {}",
    "DB_PASSWORD += {}",
    "{{'db': {{'db_password':\n            '{}',\n  'x': 1}}}}",
    "{{'password': ('{}'\n              'more')}}",
    '{{"k": "db_password", "v": "{}"}}',
    "{{'Key': 'db_password', 'Value': '{}'}}",
    '{{"Name": "DB_PASSWORD", "Value": "{}"}}',
    '{{"key": "db_password", "value": "{}"}}',
    '{{"ParameterKey": "DBPassword", "ParameterValue": "{}"}}',
    '{{"var": "db_password", "val": "{}"}}',
    '{{"field": "password", "content": "{}"}}',
    "poetry config http-basic.foo bea {}",
    'http-basic.foo.password = "{}"',
    "npmAuthToken: {}",
    '  npmAuthToken: "{}"',
    'npmAuthIdent: "bea:{}"',
    "_password={}",
    "wpa_passphrase Home {}",
    'wpa_passphrase "My Home" {}',
    "parser.add_argument('--db-password', dest='pw', type=str, default='{}')",
    'parser.add_argument(\n    "--hf-token",\n    type=str,\n    default="{}",\n    help="x",\n)',
    'opts.add("--secret-key", help="the key", required=False, default="{}")',
    'password: str = typer.Option("--password", default="{}")',
    'variable "admin_password" {{ type = string, default = "{}" }}',
    'output "db_password" {{\n  sensitive = true\n  value = "{}"\n}}',
    'variable "client_secret" {{\n  default = "{}"\n}}',
    '  ~ admin_password = (sensitive value) -> "{}"',
    '  -/+ master_password = "a" -> "{}" # forces replacement',
    '- api_secret: "{}" -> "newSecret"',
    '  user_password: null -> "{}"',
    "admin_password = <<-PW\n  {}\nPW",
    "export DB_PASSWORD=$(cat <<EOF\n{}\nEOF\n)",
    'client_secret = <<"END"\n{} and more\nEND',
    "variables:\n  DB_PASSWORD:\n    description: the password\n    value: {}",
    "- variable: ROOT_PASSWORD\n  environment: prod\n  value: '{}'",
    '"outputs": {{\n  "admin_password": {{\n    "sensitive": true,\n    "value": "{}"\n  }}\n}}',
    '[("user", "bea"), ("admin_password", "{}")]',
    'dict([("secret_key", "{}")])',
    '[["db_passwd", "{}"], ["x", "y"]]',
    "--admin-password\n{}",
    "- --secret-key\n- {}\n- --port",
    "'--passphrase',\n'{}',",
    "NAME      PASSWD      ROLE\nbea       {}      admin",
    "host  login  api_key\n----  -----  -------\nx     bea    {}",
    "  USERNAME   DB PASSWORD\n  bea        {}",
    "DB_PASS ?= {}",
    "export ADMIN_PASSWORD := {}",
    "SECRET_KEY ::= {}",
    "conf.password ||= '{}'",
    "SECRET_KEY += {}",
    "{{'x': 1,\n 'admin_password':\n     '{}'}}",
    "{{'api_secret': '{}'\n               'moreofit'}}",
    "{{'secret_key': ('{}'\n                'b')}}",
    '{{"Key": "AdminPassword", "Val": "{}"}}',
    '{{"field": "client_secret", "type": 2, "value": "{}"}}',
    '<param name="password" value="{}"/>',
    "{{name => 'db_password', value => '{}'}}",
    '{{"OptionName": "MasterUserPassword", "Value": "{}"}}',
    '{{"v": "{}", "k": "root_password"}}',
    "composer config http-basic.repo.x.de bea {}",
    "poetry config --local http-basic.mirror bea '{}'",
    "$ poetry config http-basic.a.b u {} --local",
    "  _authToken = {}",
    "//npm.x.de/:_authToken={}",
    "npmScopes: {{x: {{npmAuthToken: {}}}}}",
    "wpa_passphrase Roes {} > /etc/wpa.conf",
    "sudo wpa_passphrase 'My Net' '{}'",
    "$ wpa_passphrase x {}",
    "rabbitmqctl add_user bea {}",
    "mysqladmin -u root password {}",
    "a2 LOGIN bea {}",
    'C: A001 LOGIN bea "{}"',
    "USER bea\n331 Please\nPASS {}",
    "C: USER bea\nS: +OK\nC: PASS {}",
)
# In YAML a value may be a text in the lines below its key, whatever sign says how its lines are joined.
_BELOW = (
    "- name: DB_PASSWORD\n  value: >-\n    {}\n- name: PORT\n  value: >-\n    8080",
    "- name: API_TOKEN\n  value: |+2\n      {}\n",
    "- name: API_TOKEN\n  value: !!str |  # of the test\n\n    {}\n  other: 1",
    "- name: API_TOKEN\n  value:\n    '{}'\n",
    '{{\n  "name": "API_TOKEN",\n  "value":\n    "{}"\n}}',
    "- name: SMTP_PASSPHRASE\n  value: >-\n    one two three\n    {} five\n",
    "API_TOKEN value: >-\n  {}\n",
    "password: !vault |\n  {}\n",
    "- name: SECRET_KEY\n  value: >\n    {}\n",
    "- name: SECRET_KEY\n  value: {}\n",
    # What has nothing below it is not the value.
    "env:\n  - name: DB_PASSWORD\n    default:\n    value: {}\n",
    "- name: DB_PASSWORD\n  content:\n  default:\n  value:\n    {}\n",
    "- name: DB_PASSWORD\n  val: |\n  value: {}\n",
    "- name: DB_PASSWORD\n  default: null  # none\n  value: {}\n",
    "- name: DB_PASSWORD\n  default: # none\n  value: {}\n",
    "value: {}\nname: DB_PASSWORD\ncontent:\nother: 3\n",
    '{{"name": "DB_PASSWORD",\n "value":\n   "{}"}}',
    '[{{"name": "DB_PASSWORD",\n "value":\n   "{}" }} ],',
    '- name: DB_PASSWORD\n  value:\n    "correct {} horse"\n',
    "- name: DB_PASSWORD\n  value:\n    # from vault\n\n    {}  # of 2025\n",
)
_RANDOM = (
    "HF_TOKEN ?= {}",
    "poetry config pypi-token.pypi {}",
    "_auth={}",
    '@click.option("--api-token", envvar="HF_TOKEN", default="{}", show_default=False)',
)

# What clients of mail servers send, in base64: (text, what must be gone).
_B64_PLAIN = "AGJlYQBjb3JyZWN0" + "aG9yc2U="
_B64_WORD = "Y29ycmVjdGhv" + "cnNl"
_MAIL = (
    (f"235 ok\nAUTH PLAIN {_B64_PLAIN}", _B64_PLAIN),
    (f"01 C:AUTH PLAIN {_B64_PLAIN}", _B64_PLAIN),
    (f"a1 AUTHENTICATE PLAIN {_B64_PLAIN}", _B64_PLAIN),
    (f"send: 'AUTH PLAIN {_B64_PLAIN}\\r\\n'", _B64_PLAIN),
    (f"C: AUTH XOAUTH2 {_B64_PLAIN}", _B64_PLAIN),
    (f"AUTH LOGIN\n334 VXNlcm5hbWU6\nYmVh\n334 UGFzc3dvcmQ6\n{_B64_WORD}", _B64_WORD),
    (f"S: 334 UGFzc3dvcmQ6\nC: {_B64_WORD}", _B64_WORD),
    (f"04 S:334 UGFzc3dvcmQ6\n05 C:{_B64_WORD}\n06 S:235 ok", _B64_WORD),
    (f"<~  334 UGFzc3dvcmQ6\n ~> {_B64_WORD}", _B64_WORD),
    (
        f"reply: b'334 UGFzc3dvcmQ6\\r\\n'\nreply: retcode (334); Msg: b'UGFzc3dvcmQ6'\nsend: '{_B64_WORD}\\r\\n'",
        _B64_WORD,
    ),
)

_ALL = (
    *((one.format(*[value] * 5), value) for one in _STRONG for value in (_WORD, _LETTERS)),
    *((one.format(_LONG), _LONG) for one in _BELOW),
    *((one.format(_LONG), _LONG) for one in _RANDOM),
    *_MAIL,
)
LINES: tuple[tuple[str, str], ...] = tuple(row for row in _ALL if "\n" not in row[0])
BLOCKS: tuple[tuple[str, str], ...] = tuple(row for row in _ALL if "\n" in row[0])
