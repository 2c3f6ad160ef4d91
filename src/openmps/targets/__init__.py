"""Running a built kernel on one kind of machine."""
