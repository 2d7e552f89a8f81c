package promcheck

import "regexp"

// pinned is an image with a version as its tag.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?[0-9]+\.[0-9]+\.[0-9]+$`)
