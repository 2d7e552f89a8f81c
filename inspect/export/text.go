package export

import (
	"io"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// TextOptions say how to draw in text.
type TextOptions struct {
	Width int // columns; 0 is 100
	ASCII bool
}

// Text draws the waterfall in plain text, the critical path marked.
func Text(w io.Writer, f *waterfall.Waterfall, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = 100
	}
	return write(w, human.Visible(f.Text(opt.Width, waterfall.TextOptions{ASCII: opt.ASCII})))
}
