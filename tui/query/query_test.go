package query

import (
	"strings"
	"testing"
)

var fields = Fields{Names: []string{"ns", "pod", "method", "took", "took2", "freed", "time", "restarts", "result"}, Took: "took", Err: true}

// shop is a row to be filtered.
func shop(failed bool) Row {
	values := map[string]Value{
		"ns": {Text: "shop"}, "pod": {Text: "shop/Cart-1"}, "method": {Text: "PullImage"},
		"took": {Text: "812ms", Figure: .812, Known: true}, "freed": {Text: "412 MiB", Figure: 412 << 20, Known: true},
		"time": {Text: "09:26:53.000", Figure: 9*3600 + 26*60 + 53, Known: true}, "restarts": {Text: "1,234", Figure: 1234, Known: true},
		"result": {Text: "not found"},
	}
	return Row{
		Text:  func() string { return "PullImage shop/Cart-1 redis:7.2 err-log by=1.2s" },
		Field: func(name string) Value { return values[name] },
		Err:   failed,
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
		"meth=pullimage":           true, // the only one that begins so
		"ns>3":                     false,
		"err":                      false,
		"-err":                     true,
		`"err"`:                    true,
		"ns=shop >500ms -err cart": true,
	} {
		f, err := Parse(text, fields)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if got := f.Match(shop(false)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	f, err := Parse("err", fields)
	if err != nil || !f.Match(shop(true)) {
		t.Errorf("err does not show a row that failed: %v", err)
	}
}

func TestErrorsInWords(t *testing.T) {
	for text, want := range map[string]string{
		"/we(":       "not a regular expression: missing closing ): we(",
		"~*":         "not a regular expression: missing argument to repetition operator: *",
		"pod~(":      "not a regular expression: missing closing ): (",
		"nss=shop":   "no field nss, there are ns pod method",
		"t=3":        "t may be took or took2 or time",
		"took>abc":   `"abc" is no figure: want one as 500ms`,
		">1parsec":   "is no figure",
		"cart by=12": "no field by",
	} {
		if _, err := Parse(text, fields); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		">3s": "nothing here has a duration", "err": "nothing here tells of errors", "ns=shop": "there are no fields here",
	} {
		if _, err := Parse(text, Fields{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) without fields: %v, want %q", text, err, want)
		}
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
		filter, err := Parse(s, fields)
		if err != nil && filter != nil {
			t.Error("half a filter")
		}
		filter.Match(shop(false))
		filter.MatchString(s)
	})
}
