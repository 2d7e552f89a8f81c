package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/causepage"
	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace/fit"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/learn"
)

// explaining is one run of the explain command.
type explaining struct {
	s     streams
	pager pager
}

func newExplain(s streams) *cobra.Command {
	e := &explaining{s: s}
	c := &cobra.Command{
		Use:   "explain [TOPIC]",
		Short: "Explain a cause, or a term of the views",
		Long: `Explain a cause that why names (KL05, KN02), or a term of the views: a step, a wait, a call to the container runtime, a concept. The
texts are those of the learner's panel of the UI (L) and of docs/causes. They are part of the program: the command needs no agent and
no network. Without a topic, the command lists all topics.`,
		Example: `  kubeloupe explain KL05
  kubeloupe explain pleg
  kubeloupe explain RunPodSandbox
  kubeloupe explain`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return e.run(args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return topicsWith(start), cobra.ShellCompDirectiveNoFileComp
		},
	}
	e.pager.add(c.Flags())
	return c
}

func (e *explaining) run(args []string) error {
	if len(args) == 0 {
		return e.pager.show(e.s, func(w io.Writer) error { return listTopics(w, widthOf(e.s.out)) })
	}
	text, err := explained(args[0], widthOf(e.s.out))
	if err != nil {
		return userError{err}
	}
	return e.pager.show(e.s, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// explained is the text about a topic, in any spelling of its name.
func explained(name string, width int) (string, error) {
	for _, p := range causepage.All() {
		if strings.EqualFold(p.ID, name) {
			return p.Text, nil
		}
	}
	of := name
	if alias, ok := learn.Aliases()[strings.ToLower(name)]; ok {
		of = alias
	}
	for _, t := range learn.Topics() {
		if strings.EqualFold(t.Name, of) {
			text := fit.Paragraph("", t.Text, min(width, pipeWidth))
			return t.Title + "\n\n" + strings.Join(text, "\n") + "\n\nRead: " + t.Read + "\n", nil
		}
	}
	return "", lookup.Check("topic", name, topicNames())
}

// topicNames are all topics, causes first.
func topicNames() (names []string) {
	for _, p := range causepage.All() {
		names = append(names, p.ID)
	}
	for _, t := range learn.Topics() {
		names = append(names, t.Name)
	}
	return names
}

// topicsWith are the topics and aliases that begin so, in any case.
func topicsWith(start string) []string {
	all := topicNames()
	for alias := range learn.Aliases() {
		all = append(all, alias)
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(name string) bool {
		return !strings.HasPrefix(strings.ToLower(name), strings.ToLower(start))
	})
}

// listTopics writes one line for each topic: its name and its title, or the first sentence of what it is.
func listTopics(w io.Writer, width int) error {
	width = min(width, pipeWidth)
	var b strings.Builder
	b.WriteString("Causes\n")
	for _, p := range causepage.All() {
		title, _, _ := strings.Cut(strings.TrimPrefix(p.Text, "# "+p.ID+": "), "\n")
		fmt.Fprintf(&b, "  %-20s %s\n", p.ID, title)
	}
	b.WriteString("\nTerms\n")
	for _, t := range learn.Topics() {
		first, _, _ := strings.Cut(t.Text, ". ")
		b.WriteString(fit.Cut(fmt.Sprintf("  %-20s %s", t.Name, human.Line(strings.TrimSuffix(first, ".")+".")), width, fit.Ellipsis) + "\n")
	}
	b.WriteString("\nkubeloupe explain TOPIC shows the text.\n")
	_, err := io.WriteString(w, b.String())
	return err
}
