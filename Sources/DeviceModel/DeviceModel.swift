// Placeholder of the first commit; replaced by the room's real files.
