package query_test

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/query"
)

// call is a row of the example.
type call struct {
	ns, method string
	took       time.Duration
	err        string
}

// row returns the call as a row.
func (c *call) row() query.Row {
	return query.Row{
		Text: func() string { return c.ns + " " + c.method + " " + c.err },
		Field: func(name string) query.Value {
			switch name {
			case "ns":
				return query.Value{Text: c.ns}
			case "dur":
				return query.Value{Figure: c.took.Seconds(), Known: true}
			}
			return query.Value{Text: c.err, True: c.err != ""}
		},
	}
}

func Example() {
	fields := query.Fields{Took: "dur", All: []query.Field{
		{Name: "ns", Kind: query.Text},
		{Name: "dur", Kind: query.Duration},
		{Name: "err", Kind: query.Text | query.Flag},
	}}
	calls := []call{
		{"shop", "PullImage", 2 * time.Second, "cart:7: not found"},
		{"shop", "CreateContainer", 20 * time.Millisecond, ""},
		{"jobs", "PullImage", 3 * time.Second, ""},
	}
	for _, text := range []string{`ns=shop dur>500ms err~"not found"`, "!err Pull|Run", ">2500ms", "nss=shop", "dur>3"} {
		conditions, err := query.Parse(text, fields)
		if err != nil {
			fmt.Println(text, "-", err)
			continue
		}
		for i := range calls {
			if conditions.Match(calls[i].row()) {
				fmt.Println(text, "-", calls[i].ns, calls[i].method)
			}
		}
	}
	// Output:
	// ns=shop dur>500ms err~"not found" - shop PullImage
	// !err Pull|Run - jobs PullImage
	// >2500ms - jobs PullImage
	// nss=shop - column 1: no field "nss": did you mean ns? (fields: ns dur err); use quotes to search for the text
	// dur>3 - column 5: "3" is not a duration: want for example 2s or 500ms
}
