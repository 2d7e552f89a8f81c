package query

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// operand is the value that a field is compared with.
type operand struct {
	text   string
	isText bool
	figure float64
	known  bool
	flag   *bool
}

// is reports whether a value is equal: the same number, the same text ignoring case, or a path that ends in it.
func (o *operand) is(v Value) bool {
	if o.flag != nil && *o.flag == v.True {
		return true
	}
	if v.Known && o.known && v.Figure == o.figure {
		return true
	}
	if !o.isText {
		return false
	}
	if strings.EqualFold(v.Text, o.text) {
		return true
	}
	i := len(v.Text) - len(o.text)
	return i > 0 && o.text != "" && v.Text[i-1] == '/' && strings.EqualFold(v.Text[i:], o.text)
}

// operand parses the value that the field is compared with.
func (f *Field) operand(op, s string) (o operand, percent bool, err error) {
	order := op[0] == '<' || op[0] == '>'
	if f.Check != nil && !order {
		if s, err = f.Check(s); err != nil {
			return o, false, err
		}
	}
	o.text, o.isText = s, f.Kind&Text != 0 && !order
	if strings.HasSuffix(s, "%") && f.Kind&Percent != 0 {
		o.figure, o.known = number(strings.TrimSuffix(s, "%"))
		if !o.known || o.figure < 0 || o.figure > 100 {
			return o, true, fmt.Errorf("%s is not a percentage from 0%% to 100%%", s)
		}
		return o, true, nil
	}
	switch {
	case f.Kind&Figure != 0:
		o.figure, o.known = figure(s)
	case f.Kind&Duration != 0:
		o.figure, o.known = duration(s)
	}
	if !o.known && f.Kind&Number != 0 {
		if o.figure, o.known = number(s); !o.known {
			o.figure, o.known = size(s)
		}
	}
	if b, ok := truth(s); ok && f.Kind&Flag != 0 && !order {
		o.flag = &b
	}
	if !o.known && !o.isText && o.flag == nil {
		return o, false, f.wants(s)
	}
	return o, false, nil
}

// wants returns the error that says which values are valid.
func (f *Field) wants(s string) error {
	switch {
	case f.Kind&Figure != 0:
		return fmt.Errorf("%q is not a figure: want for example 500ms, 10MiB, 3, 85%% or 12:03", s)
	case f.Kind&Percent != 0 && strings.HasSuffix(s, "%"):
		return fmt.Errorf("%q is not a percentage from 0%% to 100%%", s)
	case f.Kind&Percent != 0:
		return fmt.Errorf("%q is not a duration or a percentage: want for example 500ms or 2%%", s)
	case f.Kind&Duration != 0 && f.Kind&Number != 0:
		return fmt.Errorf("%q is not a figure: want for example 500ms or 3", s)
	case f.Kind&Duration != 0:
		return fmt.Errorf("%q is not a duration: want for example 2s or 500ms", s)
	case f.Kind&Number != 0:
		return fmt.Errorf("%q is not a number: want for example 3, 1,234 or 10MiB", s)
	}
	return errors.New("want true or false")
}

// figure parses a number in any unit: 500ms, 1m30s, 10MiB, 10Mi, 85%, 1,234, 12:03:04.5.
func figure(s string) (float64, bool) {
	if d, ok := duration(s); ok && s != "0" {
		return d, true
	}
	if t, ok := clock(s); ok {
		return t, true
	}
	if f, ok := number(strings.TrimSuffix(s, "%")); ok {
		return f, true
	}
	return size(s)
}

// duration parses a duration and returns seconds.
func duration(s string) (float64, bool) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, "µ", "u"))
	return d.Seconds(), err == nil && d >= 0
}

// number parses a number, with or without commas.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// clock parses a time of day and returns seconds.
func clock(s string) (float64, bool) {
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Sub(t.Truncate(24 * time.Hour)).Seconds(), true
		}
	}
	return 0, false
}

// SecondsOfDay returns a time of day as the seconds since midnight.
func SecondsOfDay(t time.Time) float64 {
	return float64(t.Hour()*3600+t.Minute()*60+t.Second()) + float64(t.Nanosecond())/1e9
}

var units = map[string]float64{
	"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
}

// size parses a number of bytes.
func size(s string) (float64, bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i <= 0 {
		return 0, false
	}
	n, err := strconv.ParseFloat(s[:i], 64)
	unit, ok := units[strings.TrimSuffix(strings.ToLower(s[i:]), "b")]
	return n * unit, err == nil && ok
}

// truth parses the value of a flag.
func truth(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	return false, false
}
