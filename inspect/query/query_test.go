package query

import (
	"errors"
	"strings"
	"testing"
)

var fields = Fields{
	All: []Field{
		{Name: "ns", Kind: Text},
		{Name: "pod", Kind: Text},
		{Name: "method", Kind: Text},
		{Name: "took", Kind: Text | Figure},
		{Name: "took2", Kind: Text | Figure},
		{Name: "freed", Kind: Text | Figure},
		{Name: "time", Kind: Text | Figure},
		{Name: "restarts", Kind: Text | Figure},
		{Name: "result", Kind: Text},
		{Name: "err", Kind: Text | Flag},
		{Name: "errs", Kind: Text | Figure},
		{Name: "ready", Kind: Text | Flag},
	},
	Took: "took",
}

// shop is a row for the tests.
func shop(failed bool) Row {
	values := map[string]Value{
		"ns": {Text: "shop"}, "pod": {Text: "shop/Cart-1"}, "method": {Text: "PullImage"},
		"took": {Text: "812ms", Figure: .812, Known: true}, "freed": {Text: "412 MiB", Figure: 412 << 20, Known: true},
		"time": {Text: "09:26:53.000", Figure: 9*3600 + 26*60 + 53, Known: true}, "restarts": {Text: "1,234", Figure: 1234, Known: true},
		"result": {Text: "not found"}, "ready": {Text: "1/1", True: true}, "err": {}, "errs": {Text: "2", Figure: 2, Known: true},
	}
	if failed {
		values["err"] = Value{Text: "image not found", True: true}
	}
	return Row{
		Text:  func() string { return "PullImage shop/Cart-1 redis:7.2 err-log by=1.2s" },
		Field: func(name string) Value { return values[name] },
	}
}

func TestFilters(t *testing.T) {
	for text, want := range map[string]bool{
		"":                         true,
		"  ":                       true,
		"cart":                     true,
		"CART":                     false,
		"Cart redis":               true,
		"Cart nginx":               false,
		"-nginx":                   true,
		"-redis":                   false,
		"-":                        true,
		`"Cart-1 redis"`:           true,
		`"Cart-1 redis`:            true,
		`"cart-1"`:                 false,
		`-"a \"b"`:                 true,
		`"by=1.2s"`:                true,
		"/car.-1/":                 true,
		"/pull.* redis/":           true,
		"/pull.* nginx":            false,
		"-/nginx/ pull":            true,
		"~^pull":                   true,
		"~redis$":                  false,
		"ns=shop":                  true,
		"NS=Shop":                  true,
		"ns=sho":                   false,
		"ns!=shop":                 false,
		"-ns=jobs":                 true,
		"ns=":                      true,
		"pod=cart-1":               true,
		"pod=shop/cart-1":          true,
		"pod=art-1":                false,
		"method~^Pull":             true,
		"method~^pull":             true,
		"method~/pull image/":      false,
		"method!~pull":             false,
		`result="not found"`:       true,
		"took>500ms":               true,
		">500ms":                   true,
		"<500ms":                   false,
		">=.812s":                  true,
		"<=0.812":                  true,
		">":                        true,
		"-took>1s":                 true,
		"freed>400MiB":             true,
		"freed>=412Mi":             true,
		"freed>500M":               false,
		"restarts=1234":            true,
		"restarts>1,000":           true,
		"time>09:26":               true,
		"time<09:26:52.5":          false,
		"meth=pullimage":           true, // the only one with this prefix
		"err":                      false,
		"-err":                     true,
		`"err"`:                    true,
		"ns=shop >500ms -err cart": true,
		// As in k9s.
		"!nginx":        true,
		"!redis":        false,
		"!ns=jobs":      true,
		"!took>1s":      true,
		"!/nginx/ pull": true,
		"!~nginx":       true,
		"!":             true,
		"! cart":        true,
		"cart|web":      true,
		"nginx|web":     false,
		"!nginx|web":    true,
		"^pull":         true,
		"^cart":         false,
		"1.2s$":         true,
		"cart.*redis":   true,
		"ready":         true,
		"!ready":        false,
		"-ready":        false,
		"Ready":         false, // a capital letter makes it case-sensitive
		"ready=true":    true,
		"ready=1/1":     true,
		"ready!=true":   false,
		"ready=no":      false,
		// Spaces, and && in place of a space.
		"took > 500ms":     true,
		"took> 500ms":      true,
		"took >1s":         false,
		"err >500ms":       false,
		"!err >500ms":      true,
		"pod ~nginx":       false,
		"err>1":            true, // errs, by its prefix
		"errs>2":           false,
		"Namespace=shop":   true,
		"ns == shop":       true,
		"ns=shop && cart":  true,
		"ns=shop&&nginx":   false,
		"cart && ":         true,
		"&& cart":          true,
		`pod=~"cart-\d"`:   true,
		`pod~"cart-\\d"`:   true,
		`err~"not found"`:  false,
		`err!~"not found"`: true,
		`err=""`:           true,
		"-x-y":             true,
	} {
		f, err := ParseLive(text, fields)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got := f.Match(shop(false)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	f, err := Parse(`err err~"not found" !err=image`, fields)
	if err != nil || !f.Match(shop(true)) {
		t.Errorf("err does not show a row that failed: %v", err)
	}
}

func TestErrorsInWords(t *testing.T) {
	for text, want := range map[string]string{
		"/we(/":                   "column 1: not a regular expression: missing closing ): we(",
		"~*":                      "column 2: not a regular expression: missing argument to repetition operator: *",
		"pod~(":                   "column 5: not a regular expression: missing closing ): (",
		"(web|":                   "column 1: not a regular expression: missing closing ): (web|",
		"(x{900}){9}|y":           "not a regular expression: invalid repeat count",
		"(abcdefghijklm){900}|y":  "the regular expression repeats too much",
		"nss=shop":                `column 1: no field "nss": did you mean ns? (fields: ns pod method`,
		"cart by=12":              `column 6: no field "by" (fields: ns pod method`,
		"cart !fuel>12":           `column 7: no field "fuel" (fields: ns`,
		"t=3":                     `no field "t"`,
		"took>abc":                `column 6: "abc" is not a figure: want for example 500ms`,
		"took>NaN":                `"NaN" is not a figure`,
		">1parsec":                "column 2: \"1parsec\" is not a figure",
		"ns>3":                    "column 3: ns cannot be compared with >: want one of = == != ~ !~",
		"ready>3":                 "column 6: ready cannot be compared with >",
		"ns=":                     "column 4: want a value after ns=",
		"ns= ~web":                "column 5: want a value after ns=; quotes for one that begins with ~",
		"took> =3":                "column 7: want a value after took>; quotes for one that begins with =",
		"ns= && cart":             "column 5: want a value after ns=",
		"ns=shop &&":              "column 11: want a condition after &&",
		"ns=shop && && x":         "column 12: want a condition after &&",
		"&& x":                    "column 1: want a condition before &&",
		"!":                       "column 2: want a condition after !",
		"- x":                     "column 2: want a condition after -",
		`"a b`:                    "column 1: the quotes are not closed",
		`""`:                      "nothing to look for",
		"/a b":                    "column 1: the expression is not closed",
		"//":                      "nothing to look for",
		"~":                       "nothing to look for",
		"a || b":                  `column 3: there is no "or", all conditions must be true`,
		"größe=1":                 `column 1: no field "größe"`,
		"größe ns>1":              "column 9: ns cannot",
		strings.Repeat("a", 1025): "1025 bytes of conditions: want 1024 at most",
		strings.Repeat("a ", 65):  "column 130: more than 64 conditions",
	} {
		f, err := Parse(text, fields)
		bad, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(bad.Error(), want) || f != nil {
			t.Errorf("Parse(%q): %v, %v, want %q", text, f, err, want)
		}
	}
	for text, want := range map[string]string{
		">3s": "nothing here has a duration", "err": "no row here has errors", "ns=shop": "there are no fields here",
	} {
		if _, err := Parse(text, Fields{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) without fields: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseLive("t=3", fields); err == nil || !strings.Contains(err.Error(), "t may be took or took2 or time") {
		t.Errorf("the beginning of several fields: %v", err)
	}
}

// checks are the fields of a check, without words.
var checks = Fields{NoWords: true, All: []Field{
	{Name: "start", Kind: Duration, Measured: true},
	{Name: "share", Kind: Duration | Percent, Measured: true},
	{Name: "tries", Kind: Number},
	{Name: "code", Kind: Text, Check: OneOf("NotFound", "Unavailable")},
	{Name: "ready", Kind: Duration | Flag, Measured: true},
	{Name: "late", Kind: Text, Refuse: "is known only later"},
	{Name: "KL05", Kind: Flag},
}}

func TestConditionsOnFieldsOnly(t *testing.T) {
	values := map[string]Value{
		"start": {Figure: 3, Known: true, Growing: true}, "share": {Figure: .5, Known: true, Percent: 20}, "tries": {Figure: 2048, Known: true},
		"code": {Text: "NotFound"}, "ready": {Absent: true}, "KL05": {True: true},
	}
	row := Row{Field: func(name string) Value { return values[name] }}
	for text, want := range map[string]bool{
		"start>2s":          true,
		"start > 2s":        true,
		"start >2s KL05":    true,
		"!start>2s":         false,
		"start>4s":          false, // not yet
		"!start>4s":         false, // but it may
		"start<4s":          false,
		"!start<4s":         false,
		"start<2s":          false,
		"!start<2s":         true, // it never will
		"share>10%":         true,
		"share>=500ms":      true,
		"share<10%":         false,
		"tries=2,048":       true,
		"tries=2KiB":        true,
		"tries!=3":          true,
		"code=notfound":     true,
		"code!=unavailable": true,
		"code~^not":         true,
		"kl05":              true,
		"!kl05":             false,
		"KL05=true":         true,
		"ready":             false,
		"!ready":            true,
		"ready>1s":          false, // unknown
		"!ready>1s":         false,
	} {
		f, err := Parse(text, checks)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got := f.Match(row); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"start=2s":     "column 6: start cannot be compared with =: want one of > >= < <=",
		"start":        "column 6: want an operator after start, one of > >= < <=",
		"start>2":      `column 7: "2" is not a duration: want for example 2s or 500ms`,
		"start>-2s":    `"-2s" is not a duration`,
		"start>2%":     `"2%" is not a duration: want for example 2s or 500ms`,
		"share>x":      `"x" is not a duration or a percentage: want for example 500ms or 2%`,
		"share>101%":   "101% is not a percentage from 0% to 100%",
		"share>NaN%":   "NaN% is not a percentage",
		"tries=x":      `"x" is not a number`,
		"code=notfond": `column 6: "notfond" is not one of its values: did you mean NotFound?`,
		"code=7":       `column 6: "7" is not one of its values: want one of NotFound, Unavailable`,
		"KL06":         `column 1: no field "KL06": did you mean KL05?`,
		"strat>2s":     `column 1: no field "strat": did you mean start?`,
		"late=x":       "column 1: late is known only later",
		"late":         "column 1: late is known only later",
		"KL05=maybe":   "column 6: want true or false",
		`"KL05"`:       "column 1: there is no text to search here",
		"/x/":          "column 1: there is no text to search here",
		"~x":           "column 1: there is no text to search here",
		">2s":          "column 1: nothing here has a duration",
		"sta>2s":       `no field "sta": did you mean start?`, // no prefixes if nobody sees how they are completed
	} {
		if _, err := Parse(text, checks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
	}
}

func TestSpelled(t *testing.T) {
	f, err := Parse(` NS = shop  !took > 1s && err "a b" /x y/ `, fields)
	if want := `NS=shop && !took>1s && err && "a b" && /x y/`; err != nil || f.String() != want {
		t.Errorf("%s, %v, want %s", f, err, want)
	}
	again, err := Parse(f.String(), fields)
	if err != nil || again.String() != f.String() {
		t.Errorf("read again: %s, %v", again, err)
	}
	if got := f.Terms()[1]; got != (Term{Text: "!took>1s", Field: "took", Op: ">", Not: true}) {
		t.Errorf("the second: %+v", got)
	}
}

func TestWordIsMeantAsItIs(t *testing.T) {
	for _, s := range []string{"err", `a "b" \c`, "ns=shop", "/x/", "-x", ">5s"} {
		f, err := Parse(Word(s), Fields{})
		if err != nil || !f.MatchString("before "+s+" after") || f.MatchString("other") {
			t.Errorf("Word(%q) = %s: %v", s, Word(s), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"ns=shop >500ms err", `"a b`, "/x/ -~y", "-", "took>=1m -pod!~/a b/", "\xff=~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := ParseLive(s, fields)
		if err != nil && filter != nil {
			t.Error("half a filter")
		}
		filter.Match(shop(false))
		filter.MatchString(s)
	})
}

// FuzzConditions is FuzzParse for whole texts, with and without words.
func FuzzConditions(f *testing.F) {
	for _, s := range []string{`ns=shop dur>500ms err~"not found" !ready`, "start > 2s && KL05", "share>2% !tries=1,000", "web|api ^x .*$", "a &&&& b", `"\`, "code=not", "=~ !~", "-!x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, of := range []Fields{fields, checks, {}} {
			filter, err := Parse(s, of)
			if err != nil {
				if bad, ok := errors.AsType[*Error](err); !ok || bad.Column < 1 || filter != nil {
					t.Errorf("%q: error %#v with %v", s, err, filter)
				}
				continue
			}
			got := filter.Match(shop(false))
			if len(filter.String()) > maxText { // && is longer than a space
				continue
			}
			again, err := Parse(filter.String(), of)
			if err != nil || again.String() != filter.String() || again.Match(shop(false)) != got {
				t.Errorf("%q is spelled %q, which is %v, %v", s, filter, again, err)
			}
		}
	})
}
