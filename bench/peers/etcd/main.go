// Command etcd is the etcd server alone, built from its Go module: the peer of the bench `metadata`.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
