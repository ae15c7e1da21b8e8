"""REST service, alarms and their life, batch scoring and the command line."""
