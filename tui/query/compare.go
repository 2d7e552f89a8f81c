package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// operand is what a field is compared with.
type operand struct {
	text   string
	figure float64
	known  bool
	re     *regexp.Regexp
}

// compare reports whether a field is as it is wanted.
func (t *term) compare(v Value) bool {
	switch t.op {
	case "~":
		return t.want.re.MatchString(v.Text)
	case "!~":
		return !t.want.re.MatchString(v.Text)
	case "=":
		return t.want.is(v)
	case "!=":
		return !t.want.is(v)
	}
	if !v.Known || !t.want.known {
		return false
	}
	switch t.op {
	case ">":
		return v.Figure > t.want.figure
	case ">=":
		return v.Figure >= t.want.figure
	case "<":
		return v.Figure < t.want.figure
	}
	return v.Figure <= t.want.figure
}

// is reports whether a value is the wanted one: the same figure, the same text
// whatever its case, or a path that ends in it.
func (o *operand) is(v Value) bool {
	if v.Known && o.known && v.Figure == o.figure {
		return true
	}
	if strings.EqualFold(v.Text, o.text) {
		return true
	}
	i := len(v.Text) - len(o.text)
	return i > 0 && o.text != "" && v.Text[i-1] == '/' && strings.EqualFold(v.Text[i:], o.text)
}

// figure reads what people write for a figure: 500ms, 1m30s, 10MiB, 10Mi, 85%,
// 1,234, 12:03:04.5.
func figure(s string) (float64, bool) {
	if d, err := time.ParseDuration(strings.ReplaceAll(s, "µ", "u")); err == nil && s != "0" {
		return d.Seconds(), true
	}
	if t, ok := clock(s); ok {
		return t, true
	}
	n := strings.ReplaceAll(strings.TrimSuffix(s, "%"), ",", "")
	if f, err := strconv.ParseFloat(n, 64); err == nil {
		return f, true
	}
	return size(s)
}

// clock reads a time of day as its seconds.
func clock(s string) (float64, bool) {
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Sub(t.Truncate(24 * time.Hour)).Seconds(), true
		}
	}
	return 0, false
}

// SecondsOfDay is the figure of a time of day.
func SecondsOfDay(t time.Time) float64 {
	return float64(t.Hour()*3600+t.Minute()*60+t.Second()) + float64(t.Nanosecond())/1e9
}

var units = map[string]float64{
	"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
}

// size reads a number of bytes.
func size(s string) (float64, bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i <= 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(s[:i], 64)
	unit, ok := units[strings.TrimSuffix(strings.ToLower(s[i:]), "b")]
	return n * unit, err == nil && ok
}

// read makes an operand of what stands after an operator.
func read(op, s string) (o operand, err error) {
	o.text = s
	o.figure, o.known = figure(s)
	switch op {
	case "~", "!~":
		o.re, err = expression(s)
	case "<", "<=", ">", ">=":
		if !o.known {
			err = fmt.Errorf("%q is no figure: want one as 500ms, 10MiB, 3, 85%% or 12:03", s)
		}
	}
	return o, err
}
