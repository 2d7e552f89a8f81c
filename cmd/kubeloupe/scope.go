package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace"
)

// scope are the pods that a command is about, named by kubectl's flags.
type scope struct {
	namespace string
	all       bool
	selection selection // where the command has addSelector
}

// scopeHelp says how a pod is found, for help texts.
const scopeHelp = `A pod is NAMESPACE/POD, or POD in the namespace of -n. Without -n, POD is the pod of this name in the namespace default or, if that
has none, in the only namespace that has one.`

// add adds the flags to a command, whose arguments are pods of what o observes.
func (s *scope) add(c *cobra.Command, o *observed) {
	fs := c.Flags()
	fs.StringVarP(&s.namespace, "namespace", "n", "", "the `NAMESPACE` of the pods; by default all namespaces of the node")
	fs.BoolVarP(&s.all, "all-namespaces", "A", false, "the pods of all namespaces, also if there is --namespace")
	must(c.RegisterFlagCompletionFunc("namespace", completeNamespaces(o)))
}

// addSelector adds --selector; what are the things that it selects.
func (s *scope) addSelector(c *cobra.Command, o *observed, what string) { s.selection.add(c, o, what) }

// must fails for what only a mistake in this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// check refuses a name that no namespace can have, and a selector that cannot be read.
func (s *scope) check() error {
	if err := s.selection.check(); err != nil {
		return err
	}
	if s.namespace == "" {
		return nil
	}
	if err := lookup.CheckNamespace(s.namespace); err != nil {
		return fmt.Errorf("--namespace: %w", err)
	}
	return nil
}

// pod returns a reference to a pod with the namespace of -n.
func (s *scope) pod(ref string) (string, error) {
	if s.selection.given() {
		return "", errors.New("--selector cannot be used with the name of a pod")
	}
	if s.all {
		return "", errors.New("--all-namespaces cannot be used with the name of a pod: use --namespace")
	}
	return lookup.In(s.namespace, ref)
}

// pods is pod for several.
func (s *scope) pods(refs []string) ([]string, error) {
	out := make([]string, len(refs))
	for i, ref := range refs {
		var err error
		if out[i], err = s.pod(ref); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// only is the namespace to which a list is limited; "" is all.
func (s *scope) only() string {
	if s.all {
		return ""
	}
	return s.namespace
}

// holds reports whether a list has a pod.
func (s *scope) holds(p trace.Pod) bool {
	return (s.only() == "" || p.Namespace == s.only()) && s.selection.holds(p)
}
