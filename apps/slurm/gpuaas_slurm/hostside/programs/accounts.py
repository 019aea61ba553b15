"""Cluster, accounts and users in the accounting, before slurmctld looks there: in this order nobody is an invalid account.

{"cluster", "accounts": [name], "users": [{"name", "account"}]}
"""

import json
import subprocess
import sys


def sacctmgr(*arguments):
    done = subprocess.run(["sacctmgr", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"sacctmgr {arguments[-1]}: {(done.stderr or done.stdout).strip()[-240:]}")
    return done.stdout.splitlines()


def add(*words):
    sacctmgr("-i", "-Q", "add", *words)
    added.append(" ".join(words))


told = json.load(sys.stdin)
added = []
cluster = told["cluster"]
if cluster not in sacctmgr("-n", "-P", "show", "cluster", "format=cluster"):
    add("cluster", cluster)
known = [line.split("|") for line in sacctmgr("-n", "-P", "show", "assoc", f"cluster={cluster}", "format=account,user")]
for account in told["accounts"]:
    if [account, ""] not in known:
        add("account", account, f"cluster={cluster}")
for user in told["users"]:
    if [user["account"], user["name"]] not in known:
        add(
            "user",
            user["name"],
            f"account={user['account']}",
            f"defaultaccount={user['account']}",
            f"cluster={cluster}",
        )
json.dump({"added": added}, sys.stdout)
