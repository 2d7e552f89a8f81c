package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	s := spoken{strings.NewReplacer("/tmp/lab", "LAB")}
	got, err := s.json([]byte(`{"a":1,"b":[{"name":"x","v":true},{"name":"x","v":null},{"n":2}],"c":["p","q"],"d":[],"e":{},"f":"at 2026-01-02T03:04:05Z in /tmp/lab","metadata":{"uid":"0a1b2c3d-0000-4000-8000-000000000001"}}`), false)
	want := facts{
		"a": "1", "b[0].n": "2", "b[x].name": `"x"`, "b[x].v": "<nil>", "b[x #2].name": `"x"`, "b[x #2].v": "true", "c": "[p q]", "d": "[]", "e": "{}", "f": `"at TIME in LAB"`, "metadata.uid": `"UID"`,
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if got, err = s.json([]byte(`{"a":1.5}`), true); err != nil || got["a"] != "number" {
		t.Error(got, err)
	}
	if _, err = s.json([]byte(`{`), true); err == nil {
		t.Error("took half a document")
	}
	got, err = s.metrics([]byte("# TYPE a counter\na{x=\"1\",y=\"2\"} 3\na{x=\"4\",z=\"2\"} 3\n# TYPE b histogram\nb_bucket{le=\"1\"} 1\nb_bucket{le=\"+Inf\"} 1\nb_sum 1\nb_count 1\n"+
		"# TYPE c gauge\nc{namespace=\"n\",pod=\"p\",container=\"c\"} 1\nc{namespace=\"\",pod=\"\",container=\"\"} 1\n"+
		"c{namespace=\"n\",pod=\"p\",container=\"\",name=\"s\"} 1\nc{namespace=\"n\",pod=\"p\",container=\"\",name=\"\"} 1\n"), []string{"x"})
	want = facts{"a": "counter[x y z]", "a of x=1": "yes", "a of x=4": "yes", "b": "histogram, 2 buckets", "c": "gauge[container name namespace pod]", "c of n/p/c": "yes", "c of n/p": "yes", "c of n/p/SANDBOX": "yes", "c of no pod": "yes"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if _, err := s.metrics([]byte("a{ 1\n"), nil); err == nil {
		t.Error("took half a line")
	}
	if got := s.lines([]byte("Up: 3\nx=y=z\n\nsome text\n")); !maps.Equal(got, facts{"Up": "3", "x": "y=z", "line 3": "", "line 4": "some text"}) {
		t.Error(got)
	}
}

func TestContrasted(t *testing.T) {
	k := kept{
		Upstream:  contents{"/a": {"same": "1", "only upstream": "1", "other": "1"}},
		Kubeloupe: contents{"/a": {"same": "1", "only here": "1", "other": "2"}, "/b": {"x": "1"}},
	}
	rare := 0
	for _, w := range contentReasons {
		if w.rare {
			rare++
		}
	}
	c := contrasted(k)
	var got []string
	for _, one := range c.changes {
		got = append(got, one.document+" "+one.path+" "+one.upstream+" "+one.ours)
	}
	want := []string{"/a only here - 1", "/a only upstream 1 -", "/a other 1 2", "/b x - 1"}
	if !slices.Equal(got, want) || c.unexplained() != 4 || len(c.idle) != len(contentReasons)-rare || c.rows[0] != (row{"/a", 4, 1, 0}) {
		t.Errorf("%q, %d unexplained, %v", got, c.unexplained(), c.rows)
	}
	why := because("/a", "only.*", "because")
	if !why.fits(c.changes[0]) || why.fits(c.changes[2]) || why.fits(change{document: "/ab", path: "only"}) {
		t.Error(why)
	}
	if text := c.section(); !strings.Contains(text, "| `/a` | 4 | 1 | 0 | 3 |") || !strings.Contains(text, "- `/a`, only upstream: `only upstream`\n") ||
		!regexp.MustCompile("(?m)^- `/a`, `other`: upstream `1`, kubeloupe `2`$").MatchString(text) {
		t.Error(text)
	}
}
