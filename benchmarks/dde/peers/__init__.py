"""Other solvers of delay equations, each with the settings that suit it best."""
