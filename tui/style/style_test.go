package style

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

func TestClean(t *testing.T) {
	th := New(false)
	for in, want := range map[string]string{
		"plain text":                             "plain text",
		"a\x1b[31mred":                           "a?[31mred",
		"one\ntwo\tthree\r":                      "one two three ",
		"bell\a del\x7f":                         "bell? del?",
		"c1 \u009b31m":                           "c1 ?31m",
		"bidi \u202eevil":                        "bidi ?evil",
		"iso\u2066late":                          "iso?late",
		"zero\u200bwidth":                        "zero?width",
		"broken \xff utf-8":                      "broken ? utf-8",
		"line\u2028sep":                          "line?sep",
		"join\u200d \U000e0041":                  "join? ?",
		"e\u0301":                                "e\u0301",
		"Z\u0301\u0301\u0301\u0301\u0301\u0301!": "Z\u0301\u0301\u0301\u0301!",
		"wörter 日本 → stay·ok":                    "wörter 日本 → stay·ok",
	} {
		if got := th.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	got := th.CleanLines("{\r\n\t\"a\": \x1b\n}\n\n")
	if strings.Join(got, "|") != `{|    "a": ?|}` {
		t.Errorf("CleanLines = %q", got)
	}
}

func TestFitting(t *testing.T) {
	th := New(false)
	for _, c := range []struct{ got, want string }{
		{th.Cut("redis:7.2", 20), "redis:7.2"},
		{th.Cut("redis:7.2", 5), "redi…"},
		{th.Cut("redis", 0), ""},
		{th.Cut("日本語", 4), "日…"},
		{th.CutMid("kube-system/coredns-7db6d8ff4d-x2z9k", 20), "kube-syste…f4d-x2z9k"},
		{th.CutMid("shop/cart", 20), "shop/cart"},
		{th.CutMid("shop/cart", 4), "sho…"},
		{th.Left("ab", 4), "ab  "},
		{th.Right("ab", 4), "  ab"},
		{th.Right("abcdef", 4), "abc…"},
		{th.Left("日本", 5), "日本 "},
		{th.Bar(41, 68, 10), "▇▇▇▇▇▇░░░░"},
		{th.Bar(1, 1000, 4), "▇░░░"},
		{th.Bar(0, 10, 4), "░░░░"},
		{th.Bar(99, 10, 4), "▇▇▇▇"},
		{th.Bar(1, 0, 4), "░░░░"},
		{th.Length(1, 2, 8), "▇▇▇▇"},
		{th.Meter(2), "▮▮▯"},
		{th.Gauge(41, 68, 10, 60), "▇▇▇▇▇▇░░┃░"},
		{th.Spark([]float64{0, 5, 10, -1, 7}, 1), "▁▄█ ▅"},
		{th.Spark([]float64{3, 3}, 0), "▁▁"},
		{th.Spark([]float64{0, 0}, 4), "▁▁"},
		{th.Spark([]float64{100, 101}, 20), "▄▄"},
		{New(true).Spark([]float64{0, 5, 10}, 1), "_=@"},
		{th.Fill(Image), "▇"},
		{th.Fill(Wait), "┄"},
		{For([]string{"TERM=xterm", "NO_COLOR=1"}).Fill(Image), "▓"},
		{For([]string{"TERM=xterm", "NO_COLOR=1"}).Signed(Slow, "  4.2s"), " !4.2s"},
		{th.Signed(Slow, "  4.2s"), "  4.2s"},
		{th.Paint(Image.Critical(), "x"), "\x1b[1;38;5;141mx\x1b[m"},
		{th.Meter(9), "▮▮▮"},
		{New(true).Bar(1, 2, 4), "##.."},
		{New(true).Fold("a µs · 3× → 日"), "a us . 3x > ?"},
		{th.Fold("µ"), "µ"},
		{th.Paint(Plain, "x"), "x"},
		{th.Paint(Dim, ""), ""},
		{th.Paint(Slow, "x"), "\x1b[38;5;214mx\x1b[m"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Dur(812 * time.Millisecond), "812ms"},
		{Dur(-1), "-"},
		{Known(0), "-"},
		{Known(time.Second), "1.00s"},
		{Age(2340 * time.Millisecond), "2.3s"},
		{Age(75 * time.Second), "1m15s"},
		{Age(-1), "-"},
		{Bytes(68 << 20), "68 MiB"},
		{Count(1234567), "1,234,567"},
		{Count(-1234), "-1,234"},
		{Count(-123), "-123"},
		{Count(uint64(12)), "12"},
		{Clock(time.Time{}), "-"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for d := time.Duration(1); d < 1000*time.Hour; d = d*5/4 + 1 {
		if n := fit.Width(Dur(d)); n > DurWidth {
			t.Errorf("Dur(%v) = %q is %d wide", d, Dur(d), n)
		}
	}
}

func TestForTerminal(t *testing.T) {
	for _, c := range []struct {
		env   string
		ascii bool
	}{
		{"", false},
		{"TERM=xterm-256color LANG=en_US.UTF-8", false},
		{"TERM=xterm LC_ALL=C.utf8 LANG=C", false},
		{"TERM=linux LANG=en_US.UTF-8", true},
		{"TERM=vt100", true},
		{"TERM=xterm LANG=C", true},
		{"TERM=screen LC_CTYPE=POSIX", true},
		{"LANG=C LANG=C.UTF-8", false},
	} {
		if got := For(strings.Fields(c.env)).ASCII; got != c.ascii {
			t.Errorf("For(%q).ASCII = %v", c.env, got)
		}
	}
}
