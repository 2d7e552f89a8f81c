package nodecause

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Input is what the rules look at.
type Input struct {
	Model *model.Model
	// Case has the node's records of the time that counts; without a pod.
	Case *cause.Case
	// Now is when the last record was made, or the time of the question.
	Now time.Time
}

// Rule is a cause that lies in the node itself.
type Rule struct {
	// ID is stable, for example KN02. Name is a few words, About describes the cause in one or two sentences.
	ID, Name, About string
	// find returns its findings without ID and Name. The others are what other rules found before.
	find func(in *Input, others []cause.Finding) []cause.Finding
}

// Rules returns all rules, in the order of their ids.
func Rules() []Rule { return []Rule{notReady(), apiServer(), lease(), certificate(), short()} }

// Find returns what is wrong with the node: what continues first, and of that what makes a node not Ready before what makes it slow.
func Find(in *Input) []cause.Finding {
	out := slices.DeleteFunc(cause.FindNode(in.Case), func(f cause.Finding) bool { return f.ID == "KL22" && !f.Current }) // KN05 has it
	rules := Rules()
	for _, r := range []Rule{rules[1], rules[2], rules[3], rules[4], rules[0]} { // what the others found explains that it is not ready
		for _, f := range r.find(in, out) {
			f.ID, f.Name = r.ID, r.Name
			f.Sentence, f.Remedy, f.RuledOutBy = noise.Of(f.Sentence), noise.Of(f.Remedy), noise.Of(f.RuledOutBy)
			out = append(out, f)
		}
	}
	sorting.Stable(out, func(a, b *cause.Finding) int { return rank(a) - rank(b) })
	return out
}

// order is the order in which findings lead: what makes a node not Ready comes before what makes it slow.
func order() []string {
	return []string{"KN01", "KL15", "KL07", "KN02", "KN04", "KN03", "KN05", "KL22", "KL16", "KL24", "KL25", "KL23"}
}

func rank(f *cause.Finding) int {
	order := order()
	n := slices.Index(order, f.ID)
	if !f.Current {
		n += len(order)
	}
	return n
}

// has reports whether one of some causes was found, and continues.
func has(found []cause.Finding, ids ...string) bool {
	return slices.ContainsFunc(found, func(f cause.Finding) bool { return f.Current && slices.Contains(ids, f.ID) })
}

// shown is a record that the model keeps, as evidence; none if there was no such record.
func shown(seq uint64, at time.Time, format string, args ...any) []cause.Evidence {
	if at.IsZero() {
		return nil
	}
	return []cause.Evidence{{Seq: seq, Time: at, Text: noise.Of(fmt.Sprintf(format, args...))}}
}
