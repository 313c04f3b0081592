"""A set-up plan in the forms of other tools: an Ansible play, cloud-init's user data, a Dockerfile."""
