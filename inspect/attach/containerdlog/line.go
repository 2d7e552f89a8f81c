package containerdlog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// maxLine bounds a line; a longer one is not read.
	maxLine = 256 << 10
	// maxFields bounds the keys of a line.
	maxFields = 64
)

// Line is one line of a runtime's log, as logrus writes it.
type Line struct {
	Time time.Time
	// Precision is a second in CRI-O's JSON, else 0.
	Precision time.Duration
	Level     trace.LogLevel
	Msg       string
	// Err is the value of the key error.
	Err string
	// Fields are further keys: id, name, containerID, sandboxID, ...
	Fields map[string]string
}

// Is reports whether a line looks like one of a runtime's log: time, level and message, in text or in JSON. It is quick.
func Is(line string) bool {
	if strings.HasPrefix(line, `time="`) {
		return strings.Contains(line, " level=") && strings.Contains(line, " msg=")
	}
	return strings.HasPrefix(line, "{") && strings.Contains(line, `"level":"`) && strings.Contains(line, `"msg":"`) && strings.Contains(line, `"time":"`)
}

// ParseLine reads a line; ok is false where it is none of a runtime's log. Anybody may have written it.
func ParseLine(line string) (l Line, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	if len(line) > maxLine || !Is(line) {
		return l, false
	}
	fields := map[string]string{}
	if line[0] == '{' {
		ok = jsonFields(line, fields)
	} else {
		ok = textFields(line, fields)
	}
	at, known := timeOf(fields["time"])
	if !ok || !known || fields["msg"] == "" {
		return Line{}, false
	}
	if line[0] == '{' && !strings.Contains(fields["time"], ".") {
		l.Precision = time.Second
	}
	l = Line{Time: at, Precision: l.Precision, Level: levelOf(fields["level"]), Msg: fields["msg"], Err: fields["error"], Fields: fields}
	for _, k := range []string{"time", "level", "msg", "error"} {
		delete(fields, k)
	}
	if Is(l.Msg) { // a supervisor wrapped it
		if within, ok := ParseLine(l.Msg); ok {
			return within, true
		}
	}
	return l, true
}

// textFields reads key=value pairs; a value with other characters than those of words is quoted as Go does it.
func textFields(s string, into map[string]string) bool {
	for s = strings.TrimLeft(s, " "); s != "" && len(into) < maxFields; s = strings.TrimLeft(s, " ") {
		k, rest, found := strings.Cut(s, "=")
		if !found || k == "" || strings.ContainsAny(k, " \"") {
			return len(into) >= 3 // what follows the message is not needed
		}
		var v string
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return false
			}
			if v, err = strconv.Unquote(q); err != nil {
				return false
			}
			s = rest[len(q):]
		} else if v, s, found = strings.Cut(rest, " "); !found {
			s = ""
		}
		into[human.Visible(k)] = human.Visible(v)
	}
	return true
}

// jsonFields reads the strings and numbers of an object.
func jsonFields(s string, into map[string]string) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &all) != nil || len(all) > maxFields {
		return false
	}
	for k, raw := range all {
		var v string
		if json.Unmarshal(raw, &v) != nil {
			v = string(raw)
		}
		into[human.Visible(k)] = human.Visible(v)
	}
	return true
}

// timeOf reads the times that containerd and CRI-O write: with a zone, so that they are known for sure.
func timeOf(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, t.Year() >= 1970 && t.Year() < 2200
		}
	}
	return time.Time{}, false
}

func levelOf(s string) trace.LogLevel {
	switch s {
	case "warning", "warn":
		return trace.LevelWarn
	case "error", "fatal", "panic":
		return trace.LevelError
	case "debug", "trace":
		return trace.LevelDebug
	}
	return trace.LevelInfo
}
