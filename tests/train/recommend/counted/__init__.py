"""Programs that run real gloo ranks and count what each hands to every collective and send."""
