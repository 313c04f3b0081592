"""Why a plan and its estimate say what they say."""
