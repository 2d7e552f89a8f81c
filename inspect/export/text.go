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
	// Color is for a terminal with colors.
	Color bool
}

// Text draws the waterfall in text, the critical path marked. Without Color there is no escape code in it.
func Text(w io.Writer, f *waterfall.Waterfall, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = 100
	}
	drawn := f.Text(opt.Width, waterfall.TextOptions{ASCII: opt.ASCII, Color: opt.Color})
	if !opt.Color {
		drawn = human.Visible(drawn)
	}
	return write(w, drawn)
}
