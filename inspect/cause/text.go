package cause

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// maxError bounds what is quoted of an error, in bytes.
const maxError = 300

// grpcHead is what gRPC puts before an error's own words.
var grpcHead = regexp.MustCompile(`rpc error: code = \w+ desc = `)

// quoted is foreign text on one line, cut short.
func quoted(s string) string {
	if s = line(s); len(s) > maxError {
		s = strings.ToValidUTF8(s[:maxError], "") + "..."
	}
	return noise.Of(s)
}

// line is foreign text on one line.
func line(s string) string { return grpcHead.ReplaceAllString(human.Line(s), "") }

// took says how long something took, or has taken so far.
func took(d time.Duration, open bool) string {
	if open {
		return noise.Of(human.Duration(d) + " so far")
	}
	return noise.Of(human.Duration(d))
}

// waitEvidence is a wait as evidence.
func waitEvidence(s *Span[*trace.Wait]) Evidence {
	text := fmt.Sprintf("wait (%s) for %s: %s", s.Event.For, say.On(s.Event), took(s.Dur(), s.Open))
	if more := detail(s); more != "" {
		text += "; " + quoted(more)
	}
	return evidence(s.Rec(), "%s", text)
}

// detail says more of a wait.
func detail(s *Span[*trace.Wait]) string { return say.Detail(s.Event, s.Start.UnixNano()) }

// callEvidence is a call to the runtime as evidence.
func callEvidence(s *Span[*trace.CRICall]) Evidence {
	text := s.Event.Method + ": " + took(s.Dur(), s.Open)
	if err := s.Err(); err != "" {
		text = s.Event.Method + " failed after " + human.Duration(s.Dur()) + ": " + quoted(err)
	}
	return evidence(s.Rec(), "%s", text)
}

// maxNames bounds how many names a sentence has.
const maxNames = 5

// someOf are names, or the first of many and how many more there are.
func someOf(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// times says how often: once, twice, 3 times.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
