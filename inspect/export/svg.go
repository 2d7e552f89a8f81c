package export

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
)

// SVG draws the waterfall as a picture: static, no script, nothing from elsewhere. It follows
// the reader's preference for light or dark.
func SVG(w io.Writer, f *waterfall.Waterfall) error {
	p := newPicture(f)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="kl-title kl-desc">`,
		pictureWidth, p.height(), pictureWidth, p.height())
	fmt.Fprintf(&b, "\n<title id=\"kl-title\">%s</title>\n<desc id=\"kl-desc\">%s</desc>\n<style>\n%s</style>\n",
		escape("Start of "+f.Title()), escape("why: "+f.Why()+" sum: "+f.Sum()), pictureStyle())
	fmt.Fprintf(&b, "<rect class=\"kl-ground\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", pictureWidth, p.height())
	p.heading(&b)
	p.chart(&b)
	p.footing(&b)
	b.WriteString("</svg>\n")
	return write(w, b.String())
}
