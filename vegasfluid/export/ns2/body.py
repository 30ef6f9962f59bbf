"""The part of the OTcl script that is the same for every model; it reads the lists before it."""

from __future__ import annotations

__all__ = ["BODY", "COUNTING", "SESSIONS"]

BODY = r"""
# ---- Random numbers: the same seed gives the same run. ----
if {$argc > 0} { set seed [lindex $argv 0] }
# (ns-2's first numbers are a line in its seed, so seeds that follow each other are mixed first, by
# MurmurHash3's last steps; otherwise some flow would start at the same time with all of them.)
proc mixed {number} {
    foreach {shift factor} {16 0x85ebca6b 13 0xc2b2ae35 16 1} {
        set number [expr {$number & 0xffffffff}]
        set number [expr {($number ^ ($number >> $shift)) * $factor}]
    }
    return [expr {$number % 2147483646 + 1}]
}
$defaultRNG seed [mixed [expr {2 * $seed}]]
set rng [new RNG]
$rng seed [mixed [expr {2 * $seed + 1}]]

# ---- Links, with a queue in each direction. ----
for {set i 0} {$i < $nodes} {incr i} { set node($i) [$ns node] }

proc variables {object pairs} {
    foreach {name value} $pairs { $object set $name $value }
}
proc join_nodes {from to rate delay queue limit settings} {
    global ns
    $ns simplex-link $from $to $rate $delay $queue
    $ns queue-limit $from $to $limit
    variables [[$ns link $from $to] queue] $settings
}
proc make_link {from to rate delay queue limit settings back back_limit back_settings} {
    global node
    join_nodes $node($from) $node($to) $rate $delay $queue $limit $settings
    join_nodes $node($to) $node($from) $rate $delay $back $back_limit $back_settings
}
set number 0
foreach one $links {
    eval make_link $one
    set monitor($number) [$ns monitor-queue $node([lindex $one 0]) $node([lindex $one 1]) ""]
    incr number
}

# ---- Senders and receivers. ----
proc host {class at delay} {
    global ns node access legs
    set new [$ns node]
    join_nodes $new $node($at) $access($class) $delay DropTail 1000000 {}
    join_nodes $node($at) $new $access($class) $delay DropTail 1000000 {}
    lappend legs($class) $new $node($at)
    return $new
}
proc hosts {class delay} {
    global shared shares from to
    if {[info exists shared($class,$delay)]} { return $shared($class,$delay) }
    set pair [list [host $class $from($class) $delay] [host $class $to($class) $delay]]
    if {$shares($class)} { set shared($class,$delay) $pair }
    return $pair
}
proc of_flow {list flow} {
    return [lindex $list [expr {[llength $list] == 1 ? 0 : $flow}]]
}
proc make_flow {class flow} {
    global ns tcp sink hops sender sender_settings receiver receiver_settings control start rng
    set id $class,$flow
    foreach {source destination} [hosts $class [of_flow $hops($class) $flow]] {}
    set tcp($id) [new $sender($class)]
    set sink($id) [new $receiver($class)]
    variables $tcp($id) $sender_settings($class)
    variables $sink($id) $receiver_settings($class)
    $ns attach-agent $source $tcp($id)
    $ns attach-agent $destination $sink($id)
    $ns connect $tcp($id) $sink($id)
    if {[llength $control($class)]} { $ns at 0.0 "choose_control $class $id" }
    if {[lindex $start($class) 0] eq "spread"} {
        set at [$rng uniform 0.0 [lindex $start($class) 1]]
    } else {
        set at [of_flow $start($class) $flow]
    }
    $ns at $at "begin $class $id"
}
proc choose_control {class id} {
    global tcp control
    set name [lindex $control($class) 0]
    fresh $class $id
    $tcp($id) select_ca $name
    foreach {key value} [lrange $control($class) 1 end] {
        $tcp($id) set_ca_param $name $key $value
    }
}
proc fresh {class id} {
    global tcp ssthresh
    if {$ssthresh($class) > 0} { $tcp($id) set ssthresh_ $ssthresh($class) }
}
proc begin {class id} {
    global tcp traffic apps
    set kind $traffic($class)
    switch [lindex $kind 0] {
        bulk { fresh $class $id; $tcp($id) send -1 }
        app {
            fresh $class $id
            set apps($id) [new [lindex $kind 1]]
            $apps($id) attach-agent $tcp($id)
            variables $apps($id) [lrange $kind 2 end]
            $apps($id) start
        }
        sessions { begin_sessions $class $id }
    }
}
"""

SESSIONS = r"""
# ---- Sessions: transfers of Pareto size, each over a new connection, with exponential gaps. ----
proc later {class mean command} {
    global ns rng
    $ns at [expr {[$ns now] - $mean * log(1.0 - [$rng uniform 0.0 1.0])}] $command
}
proc begin_sessions {class id} {
    global tcp busy waiting traffic
    set busy($id) 0
    set waiting($id) 0
    $tcp($id) proc done {} "finished $class $id"
    later $class [lindex $traffic($class) 1] "arrive $class $id"
}
proc arrive {class id} {
    global waiting busy traffic
    incr waiting($id)
    if {[lindex $traffic($class) 4]} {
        later $class [lindex $traffic($class) 1] "arrive $class $id"
    }
    if {!$busy($id)} { transfer $class $id }
}
proc transfer {class id} {
    global tcp sink busy waiting rng traffic last
    foreach {word gap mean shape overlapping} $traffic($class) {}
    set smallest [expr {$mean * ($shape - 1.0) / $shape}]
    set size [expr {$smallest * pow(1.0 - [$rng uniform 0.0 1.0], -1.0 / $shape)}]
    if {$size > 1e9} { set size 1e9 }
    set busy($id) 1
    incr waiting($id) -1
    count_flow $id
    $tcp($id) reset
    $sink($id) reset
    set last($id) [$sink($id) set bytes_]
    fresh $class $id
    $tcp($id) advanceby [expr {int($size) + 1}]
}
proc finished {class id} {
    global ns
    $ns at [$ns now] "after_transfer $class $id"
}
proc after_transfer {class id} {
    global busy waiting traffic
    set busy($id) 0
    if {$waiting($id) > 0} {
        transfer $class $id
    } elseif {![lindex $traffic($class) 4]} {
        later $class [lindex $traffic($class) 1] "arrive $class $id"
    }
}
"""

COUNTING = r"""
# ---- Counting: bytes in order at the receivers; a counter of ns-2 has 32 bits. ----
proc count_flow {id} {
    global sink last total
    set bytes [$sink($id) set bytes_]
    set total($id) [expr {$total($id) + (($bytes - $last($id)) & 0xffffffff)}]
    set last($id) $bytes
}
proc count_all {} {
    global tcp
    foreach id [array names tcp] { count_flow $id }
}
proc count_on {} {
    global ns
    count_all
    $ns at [expr {[$ns now] + 1.0}] "count_on"
}
# A queue since the start: packets times seconds of waiting, packets that came, packets dropped.
proc queue_totals {number} {
    global ns monitor
    set waiting [$monitor($number) get-pkts-integrator]
    $waiting newpoint [$ns now] [$monitor($number) set pkts_]
    return [list [$waiting set sum_] \
        [$monitor($number) set parrivals_] [$monitor($number) set pdrops_]]
}
proc end_warmup {} {
    global total before links queue_before
    count_all
    array set before [array get total]
    for {set i 0} {$i < [llength $links]} {incr i} { set queue_before($i) [queue_totals $i] }
}
proc print_queues {} {
    global links link_name queue_before duration warmup
    for {set i 0} {$i < [llength $links]} {incr i} {
        foreach {waited came dropped} [queue_totals $i] {}
        foreach {waited_before came_before dropped_before} $queue_before($i) {}
        set queue [expr {1.0 * ($waited - $waited_before) / ($duration - $warmup)}]
        set came [expr {$came - $came_before}]
        set share [expr {$came > 0 ? 1.0 * ($dropped - $dropped_before) / $came : 0.0}]
        set numbers [format "queue_packets %.6g drop_share %.6g" $queue $share]
        puts "link $link_name($i) $numbers"
    }
}
proc finish {} {
    global classes count name total before duration warmup packet_bytes
    count_all
    for {set class 0} {$class < $classes} {incr class} {
        set bytes 0
        for {set i 0} {$i < $count($class)} {incr i} {
            set bytes [expr {$bytes + $total($class,$i) - $before($class,$i)}]
        }
        set rate [expr {1.0 * $bytes / $packet_bytes / $count($class) / ($duration - $warmup)}]
        puts "class $name($class) count $count($class) goodput_packets_per_s [format %.6g $rate]"
    }
    print_queues
    flush stdout
    exit 0
}

# ---- Changes of delay while the run goes on. ----
proc change_link {from to delay} {
    global ns node
    foreach {a b} [list $node($from) $node($to) $node($to) $node($from)] {
        [[$ns link $a $b] link] set delay_ $delay
    }
}
proc change_access {class delays} {
    global ns legs
    set number 0
    set single [expr {[llength $delays] == 1}]
    foreach {a b} $legs($class) {
        set delay [lindex $delays [expr {$single ? 0 : $number / 2}]]
        [[$ns link $a $b] link] set delay_ $delay
        [[$ns link $b $a] link] set delay_ $delay
        incr number
    }
}

for {set class 0} {$class < $classes} {incr class} {
    for {set i 0} {$i < $count($class)} {incr i} {
        make_flow $class $i
        set total($class,$i) 0
        set last($class,$i) 0
        set before($class,$i) 0
    }
}
foreach event $events { $ns at [lindex $event 0] [lrange $event 1 end] }
count_on
$ns at $warmup "end_warmup"
$ns at $duration "finish"
$ns run
"""
