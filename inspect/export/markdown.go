package export

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Markdown writes the start for a comment on an issue or a pull request: why, the phases
// as a table, the findings that it is given, and the waterfall in a fence.
func Markdown(w io.Writer, f *waterfall.Waterfall, found []cause.Finding) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Start of %s\n\n%s\n\n%s\n\n", human.Markdown(f.Pod.String()), strings.Join(lines(figures(f)), " · "), human.Markdown(sentence(f.Why())))
	b.WriteString("| phase | time | share |\n| --- | ---: | ---: |\n")
	table(&b, f.Path, f.Length(), "")
	if hasTail(f) {
		table(&b, f.Tail, f.Ready-f.Started, " of started to ready")
	}
	for _, x := range found {
		fmt.Fprintf(&b, "\n**%s %s** (%s, %s): %s\n", x.ID, human.Markdown(x.Name), x.Confidence, human.Duration(x.Cost), human.Markdown(x.Sentence))
		if x.Remedy != "" {
			fmt.Fprintf(&b, "Remedy: %s\n", human.Markdown(x.Remedy))
		}
	}
	drawing := human.Visible(f.Text(100, waterfall.TextOptions{}))
	fmt.Fprintf(&b, "\n%[1]stext\n%[2]s%[1]s\n", fence(drawing), drawing)
	return write(w, b.String())
}

// table writes the rows of a path, the longest first.
func table(b *strings.Builder, path []waterfall.Segment, whole time.Duration, of string) {
	for _, p := range longestFirst(parts(path, whole)) {
		if of != "" && p.Dur == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %d %%%s |\n", human.Markdown(p.Label()), p.Time(), p.Share, of)
	}
}

// fence is longer than any run of backticks in s.
func fence(s string) string {
	f := "```"
	for strings.Contains(s, f) {
		f += "`"
	}
	return f
}
