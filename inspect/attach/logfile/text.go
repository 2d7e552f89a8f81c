package logfile

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/pattern"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// text is a log of lines, each of which may have something before it, or be JSON that has the line within.
type text struct {
	lines *lines
	begun *piece // taken down in parts, of which more follow
	// between are lines of others that came between the parts of a line. They follow it.
	between []piece
	off     bool // within a section that is neither the kubelet's nor the container runtime's
	other   uint64
	// collects says that its lines are JSON of a program that collects logs.
	collects bool
	indent   indent
}

var (
	section    = pattern.New(`^==> (.{1,200}) <==$`)
	suppressed = pattern.New(`^Suppressed (\d{1,12}) messages from (\S+)`)
)

func isSection(line string) bool { return section.MatchString(line) }

// sectionOf reports whether a line begins a section, and whether that is the kubelet's or the container runtime's.
func sectionOf(line string) (ours, ok bool) {
	m := section.FindStringSubmatch(line)
	return m != nil && (strings.Contains(m[1], "kubelet") || isRuntime(m[1])), m != nil
}

func (t *text) others() uint64 { return t.other }

// next implements pieces.
func (t *text) next() (piece, error) {
	if p := t.begun; p != nil {
		t.begun = nil
		return t.whole(*p)
	}
	if len(t.between) > 0 {
		p := t.between[0]
		if t.between = t.between[1:]; p.runtime {
			return p, nil
		}
		return t.whole(p)
	}
	for {
		line, cut, err := t.lines.next()
		if err != nil {
			return piece{}, err
		}
		if of, ok := sectionOf(line); ok {
			t.off = !of
			continue
		}
		if t.off || line == "" || strings.HasPrefix(line, "-- ") {
			t.other++
			continue
		}
		p, known := inJSON(line)
		if !known && t.collects && strings.HasPrefix(line, "{") { // what else was collected
			p, known = nil, true
		}
		if known {
			if p == nil {
				t.other++
				continue
			}
			t.collects = t.collects || strings.HasPrefix(p.process, collected)
			if p.cut = p.cut || cut; p.runtime {
				return *p, nil
			}
			return t.whole(*p)
		}
		s, own := t.indent.strip(line)
		if s.runtime {
			return piece{text: s.text, runtime: true}, nil
		}
		if m := suppressed.FindStringSubmatch(s.text); m != nil && mayBeKubelet(m[2]) {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			return piece{lost: n}, nil
		}
		if !own {
			t.other++
			continue
		}
		return t.whole(piece{text: s.text, at: s.at, process: s.process, part: s.part || klog.IsHalfHeader(s.text), cut: cut})
	}
}

// whole reads on where a line was taken down in parts.
func (t *text) whole(p piece) (piece, error) {
	if !p.part {
		return p, nil
	}
	var b strings.Builder
	b.WriteString(p.text)
	for p.part {
		line, cut, err := t.lines.next()
		if errors.Is(err, ErrIdle) {
			p.text, t.begun = b.String(), &p
			return piece{}, err
		}
		if err != nil {
			p.cut = true // what is read shows the end again
			break
		}
		next := t.lineOf(line)
		if next == nil {
			t.other++
			continue
		}
		if next.process != "" && next.process != p.process || next.runtime || next.lost > 0 { // another program's line between
			t.between = append(t.between, *next)
			if next.part || len(t.between) == maxBetween { // whoever wrote it has ended
				p.cut = true
				break
			}
			continue
		}
		if p.cut = p.cut || cut; b.Len() < maxLine {
			b.WriteString(next.text)
		}
		p.part = next.part
	}
	p.part, p.text = false, b.String()
	return p, nil
}

// maxBetween is how many lines of others may come between two parts of a line.
const maxBetween = 16

// lineOf is a line, or what of it is the kubelet's or the container runtime's; nil where it is another program's.
func (t *text) lineOf(line string) *piece {
	if p, known := inJSON(line); known {
		return p
	}
	s, own := strip(line)
	if !own && !s.runtime {
		return nil
	}
	return &piece{text: s.text, at: s.at, process: s.process, part: s.part, runtime: s.runtime}
}

// inJSON is the line within a line of JSON as docker and journalctl -o json write it: known is false where it is not such a line, and the
// piece nil where it belongs to another program.
func inJSON(line string) (p *piece, known bool) {
	if !strings.HasPrefix(line, "{") || strings.Contains(line[:min(len(line), 64)], `"ts":`) {
		return nil, false
	}
	var j struct {
		Log     *string         `json:"log"`
		Time    string          `json:"time"`
		Message json.RawMessage `json:"MESSAGE"`
		journalFields
	}
	if json.Unmarshal([]byte(line), &j) != nil {
		return nil, false
	}
	switch {
	case j.Log != nil:
		at, _ := time.Parse(time.RFC3339Nano, j.Time)
		whole := strings.HasSuffix(*j.Log, "\n")
		return &piece{text: strings.TrimRight(*j.Log, "\r\n"), at: at, process: "container", part: !whole}, true
	case j.Realtime != "":
		text, ok := message(j.Message)
		return j.piece(text, ok), true
	}
	var all map[string]any
	if json.Unmarshal([]byte(line), &all) != nil {
		return nil, false
	}
	p = shipped(all, 0)
	return p, p != nil
}

// maxShipped is how deep a line lies in what a program that collects logs writes.
const maxShipped = 3

// collected begins the name of a process whose lines a program took up that collects logs.
const collected = "collected "

// shipped is a kubelet's or a container runtime's line within an object as programs that collect logs write it, each with another name for
// the text; nil where there is none.
func shipped(all map[string]any, depth int) *piece {
	for _, k := range slices.Sorted(maps.Keys(all)) {
		switch v := all[k].(type) {
		case string:
			s, own := strip(strings.TrimRight(v, "\r\n"))
			if s.tabs > 0 { // a line of a value
				continue
			}
			if s.runtime {
				return &piece{text: s.text, runtime: true}
			}
			if own && isEntry(s.text) {
				return &piece{text: s.text, at: s.at, process: collected + s.process}
			}
		case map[string]any:
			if depth == maxShipped {
				continue
			}
			if p := shipped(v, depth+1); p != nil {
				return p
			}
		}
	}
	return nil
}

// message is a journal's message: a string, bytes as numbers where it is no UTF-8; ok is false where journalctl left it out (null), as it does with
// long ones unless it is given --all.
func message(raw json.RawMessage) (text string, ok bool) {
	var b []uint8
	var n []int
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", false
	case json.Unmarshal(raw, &text) == nil:
		return text, true
	case json.Unmarshal(raw, &n) == nil:
		for _, v := range n {
			b = append(b, byte(v))
		}
		return string(b), true
	}
	return "", false
}
