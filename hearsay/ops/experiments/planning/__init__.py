"""The planner's predictions against simulated surveys."""
