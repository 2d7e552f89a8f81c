// Command kubeloupe is a Kubernetes node agent (a kubelet) that shows what it does.
package main

import "os"

func main() {
	name, args := calledAs(os.Args)
	os.Exit(executeAs(name, args, os.Stdin, os.Stdout, os.Stderr))
}
