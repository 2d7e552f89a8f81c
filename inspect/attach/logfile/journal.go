package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// journalFields are those of a journal's entry that matter here.
type journalFields struct {
	Realtime   string `json:"__REALTIME_TIMESTAMP"`
	Identifier string `json:"SYSLOG_IDENTIFIER"`
	Unit       string `json:"_SYSTEMD_UNIT"`
	Stream     string `json:"_STREAM_ID"`
	PID        string `json:"_PID"`
	Break      string `json:"_LINE_BREAK"`
}

// piece is the entry's message as a piece; nil where another program wrote it.
func (j *journalFields) piece(text string, ok bool) *piece {
	if ofContainer(j.Unit) {
		return nil
	}
	if m := suppressed.FindStringSubmatch(text); m != nil && (j.Identifier == "" || j.Identifier == "systemd-journald") {
		if n, err := strconv.ParseUint(m[1], 10, 64); err == nil && mayBeKubelet(m[2]) {
			return &piece{lost: n}
		}
		return nil
	}
	if strings.HasPrefix(j.Identifier, "(") { // systemd itself, in the process in which it starts the program
		return nil
	}
	if !mayBeKubelet(j.Identifier) && !mayBeKubelet(orNone(j.Unit)) {
		if ok && (isRuntime(j.Identifier) || isRuntime(j.Unit)) {
			return &piece{text: text, runtime: true}
		}
		return nil
	}
	if ok && isRuntimeLine(text) {
		return &piece{text: text, runtime: true}
	}
	p := &piece{text: text, process: j.Stream + j.PID, part: j.Break == "line-max"}
	if us, err := strconv.ParseInt(j.Realtime, 10, 64); err == nil {
		p.at = time.UnixMicro(us)
	}
	if !ok {
		return &piece{lost: 1}
	}
	return p
}

// ofContainer reports whether a unit is a container's, as the kubelet's runtimes name them, or that of the conmon that takes down what one
// writes: who writes to the journal there is neither a kubelet nor a runtime, whatever it is called.
func ofContainer(unit string) bool {
	return strings.HasSuffix(unit, ".scope") && (strings.HasPrefix(unit, "cri-containerd-") || strings.HasPrefix(unit, "crio-"))
}

// orNone keeps an empty unit from counting as any.
func orNone(unit string) string {
	if unit == "" {
		return "-"
	}
	return unit
}

// export is a journal in its export format: fields as KEY=value, or KEY, a length and bytes; an empty line after each entry.
type export struct {
	lines  *lines
	other  uint64
	cursor string // of the last entry

	begun inExport // an entry of which more follows
	whole *piece   // a line that was taken down in several entries, of which more follow
	text  strings.Builder
}

// inExport is an entry as far as it was read.
type inExport struct {
	fields         journalFields
	text           string
	has, cut, some bool
	torn           bool
	cursor         string
}

func isExport(head []byte) bool {
	return bytes.HasPrefix(head, []byte("__CURSOR=")) || bytes.HasPrefix(head, []byte("__REALTIME_TIMESTAMP="))
}

func (x *export) others() uint64 { return x.other }

// next implements pieces.
func (x *export) next() (piece, error) {
	for {
		p, err := x.entry()
		switch {
		case errors.Is(err, ErrIdle):
			return piece{}, err
		case err != nil && x.whole != nil:
			x.whole.cut = true
			return x.joined(), nil
		case err != nil:
			return piece{}, err
		case p == nil:
			x.other++
			continue
		case p.runtime:
			return *p, nil
		case x.whole == nil && !p.part, x.whole != nil && !p.part && p.process != x.whole.process: // another one's line between
			return *p, nil
		case x.whole != nil && p.process != x.whole.process: // whoever wrote it has ended
			x.whole.cut = true
			cut := x.joined()
			x.whole = p
			x.text.WriteString(p.text)
			return cut, nil
		case x.whole == nil:
			x.whole = p
		}
		if x.text.Len() < maxLine {
			x.text.WriteString(p.text)
		}
		if !p.part {
			return x.joined(), nil
		}
	}
}

// joined is a line that was taken down in several entries.
func (x *export) joined() piece {
	p := *x.whole
	p.text, p.part = x.text.String(), false
	x.whole = nil
	x.text.Reset()
	return p
}

// entry reads one entry; nil where another program wrote it.
func (x *export) entry() (*piece, error) {
	e := &x.begun
	for {
		line, long, err := x.lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) && e.some {
				break
			}
			return nil, err
		}
		if line == "" {
			if e.some {
				break
			}
			continue
		}
		e.some = true
		k, v, plain := strings.Cut(line, "=")
		if !plain {
			if v, long, err = x.binary(); err != nil {
				return nil, err
			}
		}
		e.take(k, v, long)
	}
	if e.torn {
		*e = inExport{}
		return nil, nil //nolint:nilnil // it is no entry
	}
	p := e.fields.piece(e.text, e.has)
	if p != nil {
		p.cut = e.cut
	}
	if e.cursor != "" {
		x.cursor = e.cursor
	}
	*e = inExport{}
	return p, nil
}

func (e *inExport) take(k, v string, long bool) {
	switch k {
	case "MESSAGE":
		e.text, e.has, e.cut = v, true, long
	case "__REALTIME_TIMESTAMP":
		e.fields.Realtime = v
	case Torn:
		e.torn = true
	case "__CURSOR":
		e.cursor = v
	case "SYSLOG_IDENTIFIER":
		e.fields.Identifier = v
	case "_SYSTEMD_UNIT":
		e.fields.Unit = v
	case "_STREAM_ID":
		e.fields.Stream = v
	case "_PID":
		e.fields.PID = v
	case "_LINE_BREAK":
		e.fields.Break = v
	}
}

// binary reads a field's length and bytes. What is too long is passed over.
func (x *export) binary() (v string, cut bool, err error) {
	var size [8]byte
	in := patient{x.lines.r} // the rest of a field is on its way
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return "", false, ended(err)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > maxTotal {
		return "", false, fmt.Errorf("the journal's export says that a field has %d bytes: it is damaged", n)
	}
	kept := min(n, maxLine)
	var b strings.Builder
	if _, err := io.CopyN(&b, in, int64(kept)); err != nil {
		return "", false, ended(err)
	}
	if _, err := io.CopyN(io.Discard, in, int64(n-kept)+1); err != nil { // and the newline after it
		return "", false, ended(err)
	}
	return b.String(), n > kept, nil
}

// Torn is the key by which who starts journalctl again says that the entry before ends within itself, and will come again: journals have no
// such key.
const Torn = "__KUBELOUPE_TORN"

// patient reads on where its reader is idle.
type patient struct{ r io.Reader }

// Read implements io.Reader.
func (p patient) Read(b []byte) (int, error) {
	for {
		n, err := p.r.Read(b)
		if n > 0 || !errors.Is(err, ErrIdle) {
			return n, err
		}
	}
}

// ended is io.EOF for an end within a field: what came before is whole.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read the journal's export: %w", err)
}
