# The network of tables 1 to 4 in ns-2.35: prints totals, and per bin what reached the LANL router.
#   ns esnet.tcl LAW CLIENTS NETWORK UNTIL SEED     (reno or vegas; current or proposed)
lassign $argv law clients network until seed
ns-random $seed
set ns [new Simulator]
if {$network == "current"} {
    lassign {155Mb 100Mb 33554 10000 0.004} line lan router window interval
} else {
    lassign {622Mb 1000Mb 44739 100000 0.0008} line lan router window interval
}
set port 2315
set kind [expr {$law == "vegas" ? "Agent/TCP/Vegas" : "Agent/TCP/Reno"}]
# Reno's data packets carry 40 bytes of header beside these, Vegas's do not.
set payload [expr {$law == "vegas" ? 1500 : 1460}]
Agent/TCP set window_ $window
Agent/TCP set packetSize_ $payload
Agent/TCP/Vegas set v_alpha_ 1
Agent/TCP/Vegas set v_beta_ 3
Agent/TCP/Vegas set v_gamma_ 1

proc line {a b rate delay there back} {
    global ns
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $there
    $ns queue-limit $b $a $back
}
foreach name {lanl snl abq cloud} { set $name [$ns node] }
line $lanl $abq $line 1.21ms $router $port
line $snl $abq $line 0.13ms $router $port
line $cloud $abq $line 10ms $router $port

# Clients: a host each at either site, Poisson packets both ways.
set senders {}
proc connection {from to} {
    global ns kind
    set tcp [new $kind]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    return $tcp
}
proc client {from to} {
    global ns payload interval senders
    set tcp [connection $from $to]
    set source [new Application/Traffic/Exponential]
    $source set packetSize_ $payload
    $source set burst_time_ 0
    $source set idle_time_ $interval
    $source set rate_ 10000Gb
    $source attach-agent $tcp
    $ns at 0.0 "$source start"
    lappend senders $tcp
}
for {set i 0} {$i < $clients} {incr i} {
    set a [$ns node]
    set b [$ns node]
    line $a $lanl $lan 0.67ms 1000000 $router
    line $b $snl $lan 0.287ms 1000000 $router
    client $a $b
    client $b $a
}

# Outside: a new connection for each session, 64 Mb/s to each site.
set site(lanl) [$ns node]
set site(snl) [$ns node]
line $site(lanl) $lanl 10000Mb 0.67ms 1000000 1000000
line $site(snl) $snl 10000Mb 0.287ms 1000000 1000000
set gap [new RandomVariable/Exponential]
$gap set avg_ 0.25
set size [new RandomVariable/Pareto]
$size set avg_ [expr 2e6 / 1500]
$size set shape_ 1.5
proc session {to} {
    global ns cloud site gap size
    set tcp [connection $cloud $site($to)]
    $tcp advanceby [expr int([$size value]) + 1]
    $ns at [expr [$ns now] + [$gap value]] "session $to"
}
foreach to {lanl snl} { $ns at [$gap value] "session $to" }

set queue [$ns monitor-queue $lanl $abq ""]
proc count {} {
    global ns queue
    puts "bin [$queue set parrivals_] [$queue set barrivals_]"
    $ns at [expr [$ns now] + 0.0046] count
}
proc finish {} {
    global senders
    set sent 0
    set resent 0
    set acked 0
    foreach tcp $senders {
        incr sent [$tcp set ndatapack_]
        incr resent [$tcp set nrexmitpack_]
        incr acked [expr [$tcp set ack_] + 1]
    }
    puts "total $sent $resent $acked"
    exit 0
}
$ns at 0.0 count
$ns at $until finish
$ns run
