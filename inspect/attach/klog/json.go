package klog

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseJSON reads an entry of JSON; ok is false where it is none.
func ParseJSON(line string) (e Entry, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) > MaxEntry || !strings.HasPrefix(line, "{") || tooDeep(line) {
		return Entry{}, false
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return Entry{}, false
	}
	e.V, e.Severity = -1, Error // what has no level is an error
	seen := 0
	for d.More() {
		t, err := d.Token()
		k, isKey := t.(string)
		var raw json.RawMessage
		if err != nil || !isKey || d.Decode(&raw) != nil {
			return Entry{}, false
		}
		if e.take(k, raw) {
			seen++
		}
	}
	if seen < 2 {
		return Entry{}, false
	}
	e.clean()
	return e, true
}

// take takes a value in; it reports whether it is one that every entry has: time, message.
func (e *Entry) take(k string, raw json.RawMessage) bool {
	v := plain(raw)
	switch k {
	case "ts":
		ms, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(ms) || ms < 0 || ms > 1e14 {
			return false
		}
		whole := math.Floor(ms)
		e.Time = time.UnixMilli(int64(whole)).Add(time.Duration((ms - whole) * float64(time.Millisecond))).Round(time.Microsecond)
		return true
	case "msg":
		e.Msg = v
		return true
	case "caller":
		file, line, _ := strings.Cut(v, ":")
		e.File = file[strings.LastIndexByte(file, '/')+1:]
		e.Line, _ = digits(line, 8)
	case "v":
		if n, left := digits(v, 4); left == "" {
			e.V, e.Severity = n, Info
		}
	case "logger":
		e.Logger = v
	default:
		if len(e.Fields) == maxFields {
			e.Cut = true
			return false
		}
		e.Fields = append(e.Fields, Field{k, v})
	}
	return false
}

// plain is a JSON value as text has it: a string without its quotes, an object with name and namespace as namespace/name.
func plain(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return object(string(raw))
}

// object writes a reference to an object as namespace/name; any other text stays.
func object(s string) string {
	if len(s) > 1024 || !strings.HasPrefix(s, "{") || !strings.Contains(s, `"name"`) {
		return s
	}
	var ref map[string]string
	if json.Unmarshal([]byte(s), &ref) != nil || ref["name"] == "" {
		return s
	}
	switch ns, both := ref["namespace"]; {
	case len(ref) == 1:
		return ref["name"]
	case len(ref) == 2 && both && ns != "":
		return ns + "/" + ref["name"]
	}
	return s
}

// tooDeep reports whether brackets lie in each other deeper than an entry's may.
func tooDeep(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			end := quoteEnd(s[i:])
			if end < 0 {
				return true
			}
			i += end - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
