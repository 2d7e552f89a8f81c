package export

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/hue"
)

// pictureRules are the look of the waterfall, light and dark, without the colors that have a meaning.
//
//go:embed picture.css
var pictureRules string

// pictureStyle returns the look of the waterfall: a phase has the color that it has in the terminal. What is of no phase is gray. A failure's
// color comes last, so it is stronger than a phase's.
func pictureStyle() string {
	return pictureRules + colors(false) + "@media (prefers-color-scheme: dark) {\n" + colors(true) + "}\n"
}

func colors(dark bool) string {
	var b strings.Builder
	for _, s := range waterfall.Stages() {
		css := s.Hue().CSS(dark)
		if s == waterfall.StageWait {
			fmt.Fprintf(&b, ".kl-hatch { fill: %s; }\n.kl-wait .kl-bar { fill: url(#kl-hatch); stroke: %s; }\n", css, css)
			continue
		}
		fmt.Fprintf(&b, ".kl-%s .kl-bar { fill: %s; }\n", s, css)
	}
	fmt.Fprintf(&b, ".kl-slow .kl-after { fill: %s; }\n", hue.Slow.CSS(dark))
	fail := hue.Fail.CSS(dark)
	fmt.Fprintf(&b, ".kl-failed .kl-bar { fill: %s; stroke: %s; }\n.kl-failed .kl-after { fill: %s; }\n", fail, fail, fail)
	return b.String()
}
