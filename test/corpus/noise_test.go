package corpus_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// texts are the fields of the JSON of why, trace and inspect that are for people: sentences, and the words of others. All other fields are
// facts. An entry is a command and a path; [] stands for the elements of a list.
var texts = []string{
	"inspect cri .failed_calls[].error",
	"inspect gc .items[].error",
	"inspect gc .verdicts[].reason",
	"inspect loop .items[].caused[]",
	"inspect loop .items[].detail",
	"inspect node .api.error",
	"inspect node .certificates[].none",
	"inspect node .pressure[].rule",
	"inspect node .reason",
	"inspect pod .actions[].reason",
	"inspect pod .backoff.detail",
	"inspect pod .backoff.on",
	"inspect pod .containers[].message",
	"inspect pod .decisions[].reason",
	"inspect pod .events[].message",
	"inspect pod .plan.items[].reason",
	"inspect pod .plan.why",
	"inspect pod .probes[].output",
	"inspect pod .start.cause",
	"inspect pod .waits[].detail",
	"inspect pod .waits[].on",
	"inspect pod .worker.current.cause",
	"inspect pod .worker.last.cause",
	"inspect pod .worker.last.error",
	"inspect pod .worker.reason",
	"inspect pods .items[].doing",
	"inspect volumes .items[].note",
	"inspect workers .items[].cause",
	"inspect workers .items[].doing",
	"inspect workers .items[].error",
	"trace --all .starts[].cause",
	"trace .cause",
	"trace .rows[].note",
	"trace .why",
	"why .cause",
	"why .containers[].message",
	"why .findings[].disproof",
	"why .findings[].evidence[].text",
	"why .findings[].remedy",
	"why .findings[].sentence",
	"why .path[].on",
	"why .phases[].note",
	"why .waiting[].detail",
	"why .waiting[].next",
	"why .waiting[].on",
	"why .waits[].on",
	"why .warnings[].first_message",
	"why .warnings[].message",
}

// mixed are fields that are a text or a fact: what a row is about is a wait in words, or an image; a failure is an error, or a code.
var mixed = []string{"trace .rows[].detail", "trace .rows[].err", "why .phases[].err"}

// TestNoise: nothing that is found depends on a text. All texts in the records are replaced by noise, and all texts that are rendered;
// then the JSON of why, with all causes, trace and inspect is the same but for the fields of texts, and those are noise.
func TestNoise(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	used := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".klr"), func(t *testing.T) {
			recs := read(t, file)
			noisy := make([]item, len(recs))
			for i := range recs {
				noisy[i] = item{rec: tracetest.Noise(recs[i].rec), lost: recs[i].lost}
			}
			for part := 1; part <= parts; part++ {
				var plain, other bytes.Buffer
				at := fmt.Sprintf("%d/%d", part, parts)
				say(t, &plain, at, recs[:len(recs)*part/parts])
				noise.On(true)
				say(t, &other, at, noisy[:len(recs)*part/parts])
				noise.On(false)
				for _, diff := range differences(t, &plain, &other, used) {
					t.Error(at, diff)
				}
			}
		})
	}
	for _, field := range slices.Concat(texts, mixed) {
		if !used[field] && !t.Failed() {
			t.Errorf("texts lists %s, which no recording has", field)
		}
	}
}

// differences compares what is said with what is said in noise, line by line.
func differences(t *testing.T, plain, noisy *bytes.Buffer, used map[string]bool) (out []string) {
	t.Helper()
	a, b := bufio.NewScanner(plain), bufio.NewScanner(noisy)
	a.Buffer(nil, 1<<24)
	b.Buffer(nil, 1<<24)
	for a.Scan() {
		if !b.Scan() {
			return append(out, "less is said with noise")
		}
		var x, y struct {
			What string
			Said any
		}
		if err := json.Unmarshal(a.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &y); err != nil {
			t.Fatal(err)
		}
		c := comparison{what: command(x.What), used: used}
		if x.What != y.What {
			return append(out, fmt.Sprintf("%s became %s", x.What, y.What))
		}
		c.compare("", x.Said, y.Said)
		for _, d := range c.out {
			out = append(out, x.What+": "+d)
		}
	}
	if b.Scan() {
		out = append(out, "more is said with noise: "+b.Text())
	}
	return out
}

// command is what was asked, without the pod: why, trace, inspect pods.
func command(what string) string {
	words := strings.Fields(what)
	if len(words) > 1 && (words[0] == "inspect" || words[1] == "--all") {
		return words[0] + " " + words[1]
	}
	return words[0]
}

// comparison collects in what two values differ.
type comparison struct {
	what string
	used map[string]bool
	out  []string
}

// isNoise matches what a text is while all are noise.
var isNoise = regexp.MustCompile(`^(noise ?)*$`)

func (c *comparison) compare(path string, a, b any) {
	field := c.what + " " + path
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for key := range y {
			if _, ok := x[key]; !ok {
				c.out = append(c.out, fmt.Sprintf("%s.%s is there with noise only: %v", path, key, y[key]))
			}
		}
		for key, v := range x {
			c.compare(path+"."+key, v, y[key])
		}
		return
	case []any:
		y, _ := b.([]any)
		if len(x) != len(y) {
			c.out = append(c.out, fmt.Sprintf("%s: %d elements, with noise %d", path, len(x), len(y)))
			return
		}
		for i := range x {
			c.compare(path+"[]", x[i], y[i])
		}
		return
	}
	before, _ := a.(string)
	after, _ := b.(string)
	isText := slices.Contains(texts, field)
	switch {
	case isText || slices.Contains(mixed, field) && a != b:
		c.used[field] = true
		if !isNoise.MatchString(after) || (after == "") != (before == "") {
			c.out = append(c.out, fmt.Sprintf("the text %s did not become noise: %q, %q", path, before, after))
		}
	case a != b:
		c.out = append(c.out, fmt.Sprintf("%s is %v, with noise %v", path, a, b))
	}
}
