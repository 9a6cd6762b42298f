"""What users hand in, checked: arguments, columns, tables and graphs."""
