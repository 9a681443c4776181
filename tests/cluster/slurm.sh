#!/usr/bin/env bash
# A throw-away SLURM on loopback: one controller, two nodes, a munge of its own; needs root, touches nothing outside its folder.
#   slurm.sh start DIR    afterwards every client command needs SLURM_CONF=DIR/slurm.conf
#   slurm.sh stop DIR
set -euo pipefail
ACTION=$1 D=$2
export SLURM_CONF=$D/slurm.conf

stop() {
  for file in "$D"/slurmd-n?.pid "$D/slurmctld.pid" "$D/munge/pid"; do
    if [ -s "$file" ]; then kill "$(cat "$file")" 2> /dev/null || true; fi
  done
}
if [ "$ACTION" = stop ]; then
  stop
  exit 0
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mkdir -p "$D"/{state,log,spool-n1,spool-n2}
chmod 755 "$D"
H=$(hostname -s)
install -d -o munge -g munge -m 0755 "$D/munge"
dd if=/dev/urandom of="$D/munge/key" bs=1 count=1024 status=none
chown munge:munge "$D/munge/key"
chmod 0400 "$D/munge/key"
runuser -u munge -- munged --key-file="$D/munge/key" --socket="$D/munge/sock" --pid-file="$D/munge/pid" \
  --log-file="$D/munge/log" --seed-file="$D/munge/seed" --force
cat > "$SLURM_CONF" << C
ClusterName=lab
SlurmctldHost=$H(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock
CredType=cred/munge
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool-%n
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=100000,batch_sched_delay=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ReturnToService=2
KillWait=5
MinJobAge=60
DefMemPerCPU=500
NodeName=n1 NodeHostname=$H NodeAddr=127.0.0.1 Port=$(free_port) CPUs=2 RealMemory=4000 State=UNKNOWN
NodeName=n2 NodeHostname=$H NodeAddr=127.0.0.1 Port=$(free_port) CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
C
slurmctld -f "$SLURM_CONF"
for n in n1 n2; do slurmd -f "$SLURM_CONF" -N $n; done
for _ in $(seq 100); do
  idle=$(timeout 5 sinfo -h -o '%T %D' 2> /dev/null | awk '$1 == "idle" { print $2 }')
  if [ "$idle" = 2 ]; then exit 0; fi
  sleep 0.1
done
echo "the nodes did not become idle:" >&2
timeout 5 sinfo >&2 || true
tail -n 5 "$D"/log/* >&2
stop
exit 1
