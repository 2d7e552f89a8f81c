// Command kubeloupe is a Kubernetes node agent (a kubelet) that shows what it does.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
