package main

import "regexp"

// contentReason says why facts differ: those of the documents and paths that match.
type contentReason struct {
	document, path *regexp.Regexp
	why            string
}

func (w contentReason) fits(c change) bool {
	return w.document.MatchString(c.document) && w.path.MatchString(c.path)
}

// because makes a reason. Both patterns match as a whole.
func because(document, path, why string) contentReason {
	return contentReason{regexp.MustCompile("^(" + document + ")$"), regexp.MustCompile("^(" + path + ")$"), why}
}

// contentReasons say why contents are not upstream's. The first that fits is the one; each must fit somewhere.
var contentReasons = []contentReason{}
