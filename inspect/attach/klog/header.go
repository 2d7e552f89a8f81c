package klog

import (
	"strings"
	"time"
)

// stamp is the time of a header: month, day and time of day. Month and day are 0 where they were left out; none says that all of it was.
type stamp struct {
	month, day, hour, minute, second, nano int
	none                                   bool
}

// header is what a text entry begins with: Lmmdd hh:mm:ss.uuuuuu threadid file:line]
type header struct {
	severity Severity
	stamp    stamp
	pid      int
	file     string
	line     int
}

const (
	// clockLen is the length of "I0102 15:04:05.000000", timeLen of what of it is the time of day.
	clockLen = 21
	timeLen  = 15
	// maxFile bounds the file's name in a header.
	maxFile = 256
	// maxPrefix is how far into a line a header is looked for, behind what others put before it.
	maxPrefix = 512
)

// HeaderAt returns where in a line a text entry begins: 0 for plain klog, more where a journal or a wrapper wrote something before it; -1
// where there is no header.
func HeaderAt(line string) int {
	if _, _, ok := parseHeader(line); ok {
		return 0
	}
	end := min(len(line), maxPrefix)
	for i := 1; i < end; i++ {
		switch line[i-1] {
		case ' ', '\t', '"', ':', '|', ']', '\'', '}':
			if h, _, ok := parseHeader(line[i:]); ok && h.stamp.month != 0 {
				return i
			}
		}
	}
	return -1
}

// IsHalfHeader reports whether a line ends within a header, as where a terminal was too narrow for it.
func IsHalfHeader(line string) bool {
	if len(line) < clockLen || len(line) > clockLen+maxFile || strings.IndexByte("IWEF", line[0]) < 0 || strings.IndexByte(line[clockLen:], ']') >= 0 {
		return false
	}
	_, _, ok := parseHeader((line[:clockLen] + " 1 f:1] "))
	name := strings.TrimLeft(line[clockLen:], " 0123456789")
	return ok && strings.IndexByte(name, ' ') < 0
}

// parseHeader reads a header and returns what follows it.
func parseHeader(s string) (h header, rest string, ok bool) {
	if h, rest, ok := sourceOnly(s); ok {
		return h, rest, true
	}
	if len(s) < timeLen+len(" 1 f:1] ")-1 {
		return h, "", false
	}
	switch {
	case s[2] == ':': // who quotes it left out what comes before the time of day
		h.severity = Info
		if h.stamp, ok = parseStamp("I0101 " + s[:timeLen]); !ok || s[5] != ':' || s[8] != '.' {
			return h, "", false
		}
		h.stamp.month, h.stamp.day = 0, 0
		s = s[timeLen:]
	case len(s) < clockLen+len(" 1 f:1] ")-1 || strings.IndexByte("IWEF", s[0]) < 0 || s[5] != ' ' || s[8] != ':' || s[11] != ':' || s[14] != '.':
		return h, "", false
	default:
		h.severity = Severity(s[0])
		if h.stamp, ok = parseStamp(s); !ok {
			return h, "", false
		}
		s = s[clockLen:]
	}
	body := strings.TrimLeft(s, " ")
	if len(body) == len(s) {
		return h, "", false
	}
	if h.pid, s = digits(body, 10); len(s) == len(body) || s == "" || s[0] != ' ' {
		return h, "", false
	}
	s = s[1:]
	end := strings.IndexByte(s[:min(len(s), maxFile)], ']')
	if end < 0 {
		return h, "", false
	}
	colon := strings.LastIndexByte(s[:end], ':')
	if colon <= 0 || strings.IndexByte(s[:colon], ' ') >= 0 {
		return h, "", false
	}
	h.file = s[:colon]
	var left string
	if h.line, left = digits(s[colon+1:end], 8); left != "" || end == colon+1 {
		return h, "", false
	}
	return h, strings.TrimPrefix(s[end+1:], " "), true
}

// sourceOnly reads a header of which who quotes it left the source file and its line alone: pod_workers.go:1298].
func sourceOnly(s string) (h header, rest string, ok bool) {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return h, "", false
	}
	file, after, _ := strings.Cut(s[:min(len(s), maxFile)], ".go:")
	if strings.Trim(file, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return h, "", false
	}
	n, left := digits(after, 8)
	if len(left) == len(after) || !strings.HasPrefix(left, "] ") {
		return h, "", false
	}
	return header{severity: Info, stamp: stamp{none: true}, file: file + ".go", line: n}, s[strings.IndexByte(s, ']')+2:], true
}

// parseStamp reads mmdd hh:mm:ss.uuuuuu from byte 1 on.
func parseStamp(s string) (t stamp, ok bool) {
	for _, p := range []struct {
		to           *int
		at, n, least int
		most         int
	}{{&t.month, 1, 2, 1, 12}, {&t.day, 3, 2, 1, 31}, {&t.hour, 6, 2, 0, 23}, {&t.minute, 9, 2, 0, 59}, {&t.second, 12, 2, 0, 60}, {&t.nano, 15, 6, 0, 999999}} {
		v, left := digits(s[p.at:p.at+p.n], p.n)
		if left != "" || v < p.least || v > p.most {
			return t, false
		}
		*p.to = v
	}
	t.nano *= int(time.Microsecond)
	return t, true
}

// digits reads up to n digits.
func digits(s string, n int) (v int, rest string) {
	i := 0
	for i < len(s) && i < n && s[i] >= '0' && s[i] <= '9' {
		v = v*10 + int(s[i]-'0')
		i++
	}
	return v, s[i:]
}
