package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// maxLabel is how much of a label is written, in characters: with the figures it makes 80.
const maxLabel = 36

// section is a list of lines under a heading.
type section struct {
	title string
	lines []Line
}

func (c *Comparison) sections() []section {
	return []section{{"start", c.Totals}, {"critical path", c.Path}, {"phase, on the path or beside it", c.Phases}}
}

// Text writes the comparison as a table of at most 80 columns.
func Text(w io.Writer, c *Comparison) error {
	var b strings.Builder
	for _, s := range []struct {
		name string
		Side
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(&b, "%s  %s  seen %s\n", s.name, human.Line(s.Pod.String()), s.Origin.Format("2006-01-02 15:04:05.000"))
	}
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "\n%-*s %9s %9s %9s %8s\n", maxLabel, s.title, "A", "B", "delta", "change")
		for _, l := range s.lines {
			label := fit.Cut(human.Line(l.Label), maxLabel, fit.Ellipsis)
			fmt.Fprintf(&b, "%s %9s %9s %9s %8s\n", fit.Left(label, maxLabel),
				or(l.A, "-"), or(l.B, "-"), signed(l.Delta), l.change())
		}
	}
	b.WriteString("\n" + human.Line(c.Sentence) + "\n")
	return write(w, b.String())
}

// Markdown writes the comparison as a table for a comment.
func Markdown(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", human.Markdown(c.Sentence))
	fmt.Fprintf(&b, "| | A: %s | B: %s | delta | change |\n| --- | ---: | ---: | ---: | ---: |\n", human.Markdown(c.A.Pod.String()), human.Markdown(c.B.Pod.String()))
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "| **%s** | | | | |\n", s.title)
		for _, l := range s.lines {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", human.Markdown(l.Label), or(l.A, "-"), or(l.B, "-"), signed(l.Delta), l.change())
		}
	}
	return write(w, b.String())
}

// JSON writes the comparison, indented.
func JSON(w io.Writer, c *Comparison) error {
	enc := json.NewEncoder(human.Writer(w))
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}
