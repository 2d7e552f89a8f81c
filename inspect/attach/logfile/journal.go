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
	if m := suppressed.FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseUint(m[1], 10, 64); err == nil && mayBeKubelet(m[2]) {
			return &piece{lost: n}
		}
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

// orNone keeps an empty unit from counting as any.
func orNone(unit string) string {
	if unit == "" {
		return "-"
	}
	return unit
}

// export is a journal in its export format: fields as KEY=value, or KEY, a length and bytes; an empty line after each entry.
type export struct {
	lines *lines
	other uint64
}

func isExport(head []byte) bool {
	return bytes.HasPrefix(head, []byte("__CURSOR=")) || bytes.HasPrefix(head, []byte("__REALTIME_TIMESTAMP="))
}

func (x *export) others() uint64 { return x.other }

// next implements pieces.
func (x *export) next() (piece, error) {
	var whole *piece
	var text strings.Builder
	for {
		p, err := x.entry()
		switch {
		case err != nil && whole != nil:
			whole.cut, whole.part, whole.text = true, false, text.String()
			return *whole, nil
		case err != nil:
			return piece{}, err
		case p == nil:
			x.other++
			continue
		case p.runtime:
			return *p, nil
		case whole == nil && !p.part:
			return *p, nil
		case whole == nil:
			whole = p
		}
		if text.Len() < maxLine {
			text.WriteString(p.text)
		}
		if !p.part {
			whole.text, whole.part = text.String(), false
			return *whole, nil
		}
	}
}

// entry reads one entry; nil where another program wrote it.
func (x *export) entry() (*piece, error) {
	var j journalFields
	text, has, cut, some := "", false, false, false
	for {
		line, long, err := x.lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) && some {
				break
			}
			return nil, err
		}
		if line == "" {
			if some {
				break
			}
			continue
		}
		some = true
		k, v, plain := strings.Cut(line, "=")
		if !plain {
			if v, long, err = x.binary(); err != nil {
				return nil, err
			}
		}
		switch k {
		case "MESSAGE":
			text, has, cut = v, true, long
		case "__REALTIME_TIMESTAMP":
			j.Realtime = v
		case "SYSLOG_IDENTIFIER":
			j.Identifier = v
		case "_SYSTEMD_UNIT":
			j.Unit = v
		case "_STREAM_ID":
			j.Stream = v
		case "_PID":
			j.PID = v
		case "_LINE_BREAK":
			j.Break = v
		}
	}
	p := j.piece(text, has)
	if p != nil {
		p.cut = cut
	}
	return p, nil
}

// binary reads a field's length and bytes. What is too long is passed over.
func (x *export) binary() (v string, cut bool, err error) {
	var size [8]byte
	if _, err := io.ReadFull(x.lines.r, size[:]); err != nil {
		return "", false, ended(err)
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > maxTotal {
		return "", false, fmt.Errorf("the journal's export says that a field has %d bytes: it is damaged", n)
	}
	kept := min(n, maxLine)
	var b strings.Builder
	if _, err := io.CopyN(&b, x.lines.r, int64(kept)); err != nil {
		return "", false, ended(err)
	}
	if _, err := io.CopyN(io.Discard, x.lines.r, int64(n-kept)+1); err != nil { // and the newline after it
		return "", false, ended(err)
	}
	return b.String(), n > kept, nil
}

// ended is io.EOF for an end within a field: what came before is whole.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read the journal's export: %w", err)
}
