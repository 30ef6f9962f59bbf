# Weigle and Feng's butterfly for ns-2: COUNT Reno and COUNT Vegas flows in each of WAYS directions,
# bulk data, RED.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1500
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 1
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.01
Agent/TCPSink set packetSize_ 40
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1500
Queue/RED set q_weight_ 0.002
Queue/RED set linterm_ 1
Queue/RED set gentle_ false
Queue/RED set wait_ true
Queue/RED set thresh_ @MIN@
Queue/RED set maxthresh_ @MAX@
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 @LINK_MBPS@Mb @LINK_MS@ms RED
$ns simplex-link $r2 $r1 @LINK_MBPS@Mb @LINK_MS@ms @BACK@
$ns queue-limit $r1 $r2 @BUFFER@
$ns queue-limit $r2 $r1 @BUFFER@
for {set i 0} {$i < 2 * @COUNT@ * @WAYS@} {incr i} {
    set s($i) [$ns node]
    set d($i) [$ns node]
    foreach {a b} [list $s($i) $r1 $r2 $d($i)] {
        $ns duplex-link $a $b @ACCESS_MBPS@Mb @ACCESS_MS@ms DropTail
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    if {$i % (2 * @COUNT@) < @COUNT@} {
        set tcp($i) [new Agent/TCP/Reno]
    } else {
        set tcp($i) [new Agent/TCP/Vegas]
        $tcp($i) set v_alpha_ @ALPHA@
        $tcp($i) set v_beta_ @BETA@
        $tcp($i) set v_gamma_ 1
    }
    set sink($i) [new Agent/TCPSink]
    if {$i < 2 * @COUNT@} { set from $s($i); set to $d($i) } else { set from $d($i); set to $s($i) }
    $ns attach-agent $from $tcp($i)
    $ns attach-agent $to $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    set start [expr 0.1 * $i / (2 * @COUNT@ * @WAYS@) + 0.000001]
    $ns at [expr $start - 0.0000005] "$tcp($i) set ssthresh_ @SSTHRESH@"
    $ns at $start "$ftp($i) start"
}
$ns at @UNTIL@ "exit 0"
$ns run
