"""The screen of temperatures, power, clocks and use."""
