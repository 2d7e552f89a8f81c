// Command packagecheck builds the deb, rpm, apk and archlinux packages of .goreleaser.yaml with nfpm, which is what goreleaser builds them
// with. Its tests read the packages with programs that are not nfpm, and install, upgrade and remove them in a directory.
//
// It is a module apart, so that none of goreleaser's and nfpm's dependencies is ours.
package main
