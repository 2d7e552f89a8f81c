package why

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// DefaultWidth is the width of text if none is known; leastWidth is the minimum.
	DefaultWidth = 80
	// DefaultHeight is the height of a terminal if none is known.
	DefaultHeight = 24
	leastWidth    = 60
	maxWidth      = 120 // longer lines are harder to read
)

// TextOptions are options for Text.
type TextOptions struct {
	// Width is the maximum line length, in columns; 0 means DefaultWidth.
	Width int
	// Zone is the time zone of times; nil means UTC.
	Zone *time.Location
	// Height is the number of lines of the terminal; 0 means DefaultHeight. Longer text ends with its headline again.
	Height int
}

// Text writes the report in plain text, without escape codes.
func Text(out io.Writer, r *Report, opt TextOptions) error {
	b := bufio.NewWriter(out)
	p := newPage(b, opt)
	p.title(r)
	p.waiting(r)
	p.containers(r)
	p.unhealthy(r)
	p.warnings(r)
	p.phases("PHASE", r.Phases, r.Length)
	p.waits(r)
	p.path(r)
	p.sums(r)
	p.phases("END PHASE", r.EndPhases, r.End)
	p.findings(r)
	p.again(r.Pod.String()+" "+r.State(), r.Cause)
	return b.Flush()
}

// Short writes three lines: how the pod is, why, and what to do or what happens next.
func Short(out io.Writer, r *Report) error {
	return three(out, r.Pod.String()+" "+r.State(), cmp.Or(r.wait, r.Cause), r.Lead, r.Waiting, r.Now) // the third line has what happens next
}

// three writes the lines of Short.
func three(out io.Writer, title, why string, lead *cause.Finding, waiting []Waiting, now time.Time) error {
	last := "Next     nothing: no named cause was found"
	switch {
	case lead != nil:
		last = "Remedy   " + lead.Remedy
	case len(waiting) > 0 && waiting[0].Next != "":
		last = "Next     " + strings.TrimPrefix(waiting[0].NextText(now), "next: ")
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n%s\n", human.Line(title), human.Line("Why      "+why), human.Line(last))
	return err
}

// Brief returns the most important information on one line.
func Brief(r *Report) string {
	if r.Node {
		return human.Line("the node: " + r.Cause)
	}
	return human.Line(r.Pod.String() + " " + r.State() + ": " + r.Cause)
}

// State returns the state of the pod in a few words, such as "is gone; it started in 3s".
func (r *Report) State() string {
	switch r.Stage {
	case cause.Ending:
		return "has been terminating for " + human.Duration(r.End)
	case cause.Down:
		if !r.SeenReady {
			return "is not ready; its start began before this agent, which found it running"
		}
		return "was ready and no longer is"
	case cause.Over:
		if r.Gone.IsZero() {
			return "has " + cmp.Or(strings.ToLower(r.Phase), "ended") + "; it " + r.came()
		}
		if r.Ending.IsZero() {
			return "is gone; it " + r.came()
		}
		return "is gone, after " + human.Duration(r.End) + " of termination; it " + r.came()
	case cause.Unknown:
		return "is only mentioned"
	case cause.Starting, cause.Up:
	}
	return r.came()
}

// Mentioned returns one line with the pods that records only mention; "" if there are none.
func Mentioned(reports []*Report) string {
	var names []string
	for _, r := range reports {
		if r.Stage == cause.Unknown {
			names = append(names, r.Pod.String())
		}
	}
	const most = 5
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return human.Line("only mentioned, so that nothing is known of their starts: " + strings.Join(names, ", ") + more)
}

// known reports whether there is any cause, or anything that the pod waits for.
func (r *Report) known() bool { return len(r.Findings)+len(r.Waiting) > 0 }

// came returns how the pod came up.
func (r *Report) came() string {
	start, ready := human.Duration(r.Start), human.Duration(r.Ready)
	switch {
	case r.Found:
		return "was found running; its start began before this agent"
	case r.Start == 0 && r.Ready == 0 && r.Seen.IsZero():
		if r.known() {
			return "is not up; it was there before the first record"
		}
		return "was there before the first record"
	case r.Start == 0 && r.Ready == 0 && r.Stage == cause.Over:
		return "never started"
	case r.Start == 0 && r.Ready == 0:
		return "has not started after " + human.Duration(r.Length)
	case r.Ready == 0 && r.Stage == cause.Starting:
		return "started after " + start + " and is not ready"
	case r.Ready == 0:
		return "started in " + start
	case start == ready || 50*(r.Ready-r.Start) < r.Ready:
		return "started and was ready in " + ready
	}
	return "started in " + start + " and was ready after " + ready
}

// page writes lines that fit the width.
type page struct {
	w      *bufio.Writer
	width  int
	height int
	lines  int // written
	zone   *time.Location
}

func newPage(w *bufio.Writer, opt TextOptions) *page {
	return &page{w: w, width: min(max(cmp.Or(opt.Width, DefaultWidth), leastWidth), maxWidth), height: cmp.Or(opt.Height, DefaultHeight), zone: cmp.Or(opt.Zone, time.UTC)}
}

func (p *page) line(format string, args ...any) {
	s := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	_, _ = p.w.WriteString(fit.Cut(s, p.width, fit.Ellipsis) + "\n") // the error stays until Flush
	p.lines += 1 + strings.Count(s, "\n")
}

// again writes the headline at the end of what is longer than the terminal: its beginning is out of sight.
func (p *page) again(title, why string) {
	if p.lines <= p.height {
		return
	}
	p.line("")
	p.wrapped("", title)
	p.wrapped("Why      ", why)
}

// wrapped writes a label and wrapped text, with the following lines aligned to the text.
func (p *page) wrapped(label, text string) {
	for _, l := range fit.Paragraph(label, human.Line(text), p.width) {
		p.line("%s", l)
	}
}

func (p *page) head(title string) { p.line("\n%s", title) }

func (p *page) title(r *Report) {
	p.wrapped("", r.Pod.String()+" "+r.State())
	p.line("")
	p.wrapped("Why      ", r.Cause)
	if !r.Seen.IsZero() {
		seen := p.day(r.Seen)
		if r.Source != "" {
			seen += ", from " + r.Source
		}
		p.line("Seen     %s", seen)
	}
	p.line("Phase    %s", cmp.Or(r.Phase, "not told"))
	if r.Reason != "" {
		p.wrapped("Reason   ", strings.TrimSuffix(r.Reason+": "+r.Message, ": "))
	}
	if !r.Ending.IsZero() {
		p.line("Ending   since %s", p.day(r.Ending))
	}
	if r.Told > 0 {
		p.line("Told     the API server has it %s after seen", human.Duration(r.Told))
	}
	if r.Stage == cause.Starting || r.Stage == cause.Down || r.Stage == cause.Ending {
		p.line("As of    %s", p.day(r.Now))
	}
	if r.Incomplete {
		p.wrapped("Note     ", "records are missing: figures may be too low, and ongoing operations may have ended.")
	}
}

func (p *page) day(t time.Time) string { return t.In(p.zone).Format("2006-01-02 15:04:05.000 MST") }

func (p *page) clock(t time.Time) string { return t.In(p.zone).Format("15:04:05.000") }

func (p *page) waiting(r *Report) {
	if len(r.Waiting) == 0 {
		return
	}
	p.head("NOW")
	for _, w := range r.Waiting {
		p.wrapped("  ", w.Text())
		since := "waiting since"
		if w.For == "" {
			since = "since"
		}
		p.line("    %s %s, %s", since, p.clock(w.Since), human.Duration(w.Dur))
		if w.Next != "" {
			when := "; the time is not known"
			if !w.At.IsZero() {
				when = fmt.Sprintf(", at %s, %s", p.clock(w.At), in(w.At.Sub(r.Now)))
			}
			p.wrapped("    next: ", w.Next+when)
		}
	}
}

// phases writes a table of phases, with their shares of all.
func (p *page) phases(title string, phases []Phase, all time.Duration) {
	if len(phases) == 0 {
		return
	}
	name := p.width - 36
	path, none := "ON PATH", "-"
	if !slices.ContainsFunc(phases, func(ph Phase) bool { return ph.OnPath > 0 }) {
		path, none = "", "" // a termination has no critical path
	}
	p.head(strings.TrimRight(fmt.Sprintf("%-*s %8s %8s %6s %9s", name, title, "START", "TOOK", "SHARE", path), " "))
	said := map[string]bool{}
	for i, ph := range phases {
		if skipped(i, len(phases)) {
			if i == headLines {
				p.line("... %d more", len(phases)-headLines-tailLines)
			}
			continue
		}
		label := strings.TrimSpace(ph.Name + " " + ph.Of)
		took := human.Duration(ph.Dur)
		if ph.Open {
			took += "+"
		}
		p.line("%-*s %8s %8s %6s %9s", name, fit.Cut(label, name, fit.Ellipsis), human.Duration(ph.Start), took, shareOf(ph, all), onPath(ph.OnPath, none))
		if said[ph.Err] {
			p.line("  failed the same way")
		} else if ph.Err != "" {
			said[ph.Err] = true
			p.wrapped("  failed: ", fit.Cut(human.Line(ph.Err), 3*p.width, fit.Ellipsis))
		} else if ph.Note != "" {
			p.wrapped("  ", ph.Note)
		}
	}
}

// Long tables are cut in the middle: the first and the last lines are the most useful.
const headLines, tailLines = 24, 12

func skipped(i, n int) bool { return n > headLines+tailLines+1 && i >= headLines && i < n-tailLines }

// shareOf returns a phase's share of the critical path; phases after the end of the path have none.
func shareOf(ph Phase, length time.Duration) string {
	if ph.Start >= length || ph.Dur > length {
		return "-"
	}
	return human.Percent(ph.Share)
}

func (p *page) waits(r *Report) {
	if len(r.Waits) == 0 {
		return
	}
	p.head(fmt.Sprintf("%-12s %5s %8s %8s  %s", "WAIT", "COUNT", "TOTAL", "ON PATH", "LONGEST FOR"))
	for _, w := range r.Waits {
		p.line("%-12s %5d %8s %8s  %s", w.For, w.Count, human.Duration(w.Total), onPath(w.OnPath, "-"), human.Line(w.On))
	}
}

func (p *page) path(r *Report) {
	if len(r.Path) == 0 {
		return
	}
	p.head(fmt.Sprintf("%8s %8s %6s  %s", "START", "TOOK", "SHARE", "CRITICAL PATH"))
	shown := slices.DeleteFunc(slices.Clone(r.Path), func(s Segment) bool { return s.Dur < r.Length/1000 }) // too short to be useful
	for i, s := range shown {
		if skipped(i, len(shown)) {
			if i == headLines {
				p.line("%24s  ... %d more", "", len(shown)-headLines-tailLines)
			}
			continue
		}
		what := s.Label
		if s.On != "" {
			what += ": " + human.Line(s.On)
		}
		p.line("%8s %8s %6s  %s", human.Duration(s.Start), human.Duration(s.Dur), human.Percent(share(s.Dur, r.Length)), what)
	}
}

func (p *page) sums(r *Report) {
	if len(r.Path) == 0 {
		return
	}
	p.line("")
	if r.Floor > 0 {
		p.line("Floor        %8s %6s  what the runtime itself needed", human.Duration(r.Floor), human.Percent(share(r.Floor, r.Length)))
	}
	p.line("Unexplained  %8s %6s  no record covers it", human.Duration(r.Unexplained), human.Percent(r.UnexplainedPercent))
}

func (p *page) findings(r *Report) {
	if len(r.Findings) == 0 {
		p.line("\nNo named cause was found.")
		return
	}
	p.head("CAUSES")
	for _, f := range r.Findings {
		cost := f.CostText(r.Length)
		if !f.Final && (f.Cost > 0 || f.Current) {
			cost = "cost " + cost
		}
		p.finding(&f, cost)
	}
}

// finding writes a finding; cost is what it cost, in words.
func (p *page) finding(f *cause.Finding, cost string) {
	p.wrapped("  ", fmt.Sprintf("%s %s (%s): %s", f.ID, f.Name, f.Confidence, cost))
	p.wrapped("    what      ", f.Sentence)
	for i, e := range f.Evidence {
		label := "    seen      "
		if i > 0 {
			label = "              "
		}
		p.wrapped(label, fmt.Sprintf("%s #%d %s", p.clock(e.Time), e.Seq, e.Text))
	}
	p.wrapped("    remedy    ", f.Remedy)
	p.wrapped("    wrong if  ", f.RuledOutBy)
}

func onPath(d time.Duration, none string) string {
	if d == 0 {
		return none
	}
	return human.Duration(d)
}
