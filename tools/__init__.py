"""Programs for those who work on rocdoctor; they are not installed with it."""
