"""What fits what among software, what variables mean, and rules with their basis."""
