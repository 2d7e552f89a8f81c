package recording

import (
	"bytes"
	"errors"

	"github.com/kubeloupe/kubeloupe/trace"
)

// sniffLines returns an error unless one of the lines is a record; otherwise the node's name, if a line has it.
func sniffLines(p []byte) (node string, err error) {
	found := false
	for line := range bytes.Lines(p) {
		r, ok := recordIn(line)
		found = found || ok
		if a, is := r.Event.(*trace.Agent); ok && is && a.Node != "" {
			return a.Node, nil
		}
	}
	if !found {
		return "", errors.New("it is neither a recording nor JSON lines from `run -o json`")
	}
	return "", nil
}
