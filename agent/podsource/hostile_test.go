package podsource

import (
	"fmt"
	"strings"
	"testing"
)

// TestManifestsAreBounded decodes what a hostile or broken program may have written.
func TestManifestsAreBounded(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: c, image: x}\n"
	each := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	line := func(text string) func(int) string { return func(int) string { return text } }
	many := fmt.Sprintf("has more than %d problems", maxProblems)
	for _, tc := range []struct {
		name, text  string
		pods        int
		problems    int
		first, last string
	}{
		{name: "20,000 problems in a pod", text: strings.Replace(head, "  - {name: c, image: x}\n", each(20_000, line("  - {name: c}\n")), 1), problems: maxProblems + 1, first: "m:6: spec.containers[0].image", last: many},
		{name: "unknown fields", text: head + each(16_000, func(i int) string { return fmt.Sprintf("x%d: 1\n", i) }), pods: 1, problems: maxProblems + 1, first: "m:7: x0: unknown field", last: fmt.Sprintf("has more than %d fields", maxProblems)},
		{name: "bad documents", text: each(100_000, line("---\na: b\n")), problems: maxProblems + 1, first: "m:2: kind: is missing", last: many},
		{name: "broken documents", text: each(100_000, line("---\na: b: c\n")), problems: maxProblems + 1, first: "m:2: not valid YAML", last: many},
		{
			name: "many pods", text: each(3000, func(i int) string {
				return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: a%d}\nspec: {containers: [{name: c, image: x}]}\n", i)
			}),
			pods: maxDocuments, problems: 1, last: "m:5001: holds more than 1000 documents",
		},
		{
			name: "many items", text: "apiVersion: v1\nkind: PodList\nitems:\n" + each(3000, func(i int) string {
				return fmt.Sprintf("- {metadata: {name: a%d}, spec: {containers: [{name: c, image: x}]}}\n", i)
			}),
			pods: maxDocuments - 1, problems: 1, last: "holds more than 1000 documents",
		},
		{name: "nothing, often", text: each(1_000_000, line("---\n#\n")), problems: 1, last: "holds no pod"},
		{
			// Each name stands for nine of the previous.
			name: "aliases", text: head + "a: &a [x, x, x, x, x, x, x, x, x]\n" + each(25, func(i int) string {
				c := 'a' + rune(i)
				return fmt.Sprintf("%c: &%c [%s]\n", c+1, c+1, strings.TrimSuffix(strings.Repeat("*"+string(c)+", ", 9), ", "))
			}),
			problems: 1, last: "its aliases (*name) repeat what they stand for",
		},
		{
			// 100 GB, without nested aliases.
			name: "a long value", text: head + "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100_000) + "]\n",
			problems: 1, last: "its aliases (*name) repeat what they stand for",
		},
		{name: "an alias of itself", text: head + "a: &a [*a]\n", problems: 1, last: "not valid YAML"},
		{name: "aliases as they should be", text: strings.Replace(head, "  - {name: c, image: x}\n", "  - {name: c, image: &i x}\n  - {name: d, image: *i}\n", 1), pods: 1},
		{name: "deep", text: head + "foo: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n", pods: 1, problems: 1, last: "m:7: foo: unknown field"},
		{name: "deeper", text: head + "foo: " + strings.Repeat("[", 1<<20), problems: 1, last: "exceeded max depth"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pods, problems, warnings := Decode("m", []byte(tc.text), "n")
			problems = append(problems, warnings...)
			if len(pods) != tc.pods || len(problems) != tc.problems {
				t.Fatalf("%d pods and %d problems, want %d and %d", len(pods), len(problems), tc.pods, tc.problems)
			}
			if len(problems) == 0 {
				return
			}
			if got := problems[0].Error(); !strings.HasPrefix(got, tc.first) {
				t.Errorf("first problem %.200q, want %q", got, tc.first)
			}
			if got := problems[len(problems)-1].Error(); !strings.Contains(got, tc.last) {
				t.Errorf("last problem %.200q, want %q in it", got, tc.last)
			}
		})
	}
}
