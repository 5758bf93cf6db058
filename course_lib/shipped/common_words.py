"""The words that have a shipped vector, those of them that MiniLM's vocabulary has."""

WORDS = """
man woman boy girl child baby mother father brother sister son daughter uncle aunt husband wife king queen prince
princess friend neighbor teacher student doctor nurse patient lawyer judge police soldier farmer baker cook waiter
driver pilot sailor actor actress singer dancer writer poet painter musician scientist engineer president minister
dog cat horse cow pig sheep goat lion tiger bear wolf fox mouse rat rabbit bird eagle duck chicken fish shark whale
snake frog spider bee ant butterfly elephant monkey camel deer
apple orange banana lemon grape cherry potato tomato carrot onion bread butter cheese milk egg meat beef rice soup
salad sugar salt pepper honey chocolate cake tea coffee wine beer water juice ice cream dinner lunch breakfast
car bus train truck bicycle motorcycle plane ship boat taxi subway ticket passenger station platform track rail
railway railroad locomotive airport port road street bridge tunnel bank river lake sea ocean island beach mountain hill
valley forest desert field garden park tree flower rose grass leaf root seed stone rock sand
radio television telephone computer keyboard screen internet music song guitar piano violin drum broadcast channel
frequency signal antenna listener program news newspaper magazine book page letter word sentence story poem language
house home room kitchen bathroom bedroom door window wall roof floor table chair bed lamp mirror
school university hospital church museum theater restaurant hotel shop store market office factory library prison
red green blue yellow black white brown gray pink purple bright dark light heavy
hot cold warm cool big small large little tall short long wide narrow high low fast slow quick early late old new
young good bad great terrible excellent awful wonderful horrible happy sad angry afraid brave kind cruel clever stupid
rich poor strong weak clean dirty dry wet full empty hard soft loud quiet sweet bitter beautiful ugly cheap expensive
one two three four five six seven eight nine ten hundred thousand million first second third last
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december spring summer autumn winter day night morning evening week month year hour minute
france paris germany berlin italy rome spain madrid england london russia moscow japan tokyo china beijing india
egypt cairo greece athens poland warsaw sweden stockholm america washington canada africa asia europe
french german italian spanish english russian japanese chinese indian greek
go goes went gone walk walks walked walking run runs ran running eat eats ate eating drink drinks drank see sees saw
seen look looks looked hear heard say says said speak speaks spoke tell told think thinks thought know knows knew
write writes wrote written read buy bought sell sold give gave take took come came love loves loved hate hated play
plays played work works worked sleep slept sing sang swim swam fly flew drive drove ride rode open close begin end
the a an and or but not because although if when where who what which that this these those in on at to from with
without of for by about after before under over between he she it they we you i his her its their our your my him them
is are was were be been has have had do does did will would can could must should may might
heart brain hand foot head eye ear nose mouth hair blood bone skin
money price tax trade company worker boss law crime war peace army weapon gun sword bomb battle
science physics chemistry biology mathematics number sum equation theory experiment history art religion god
sun moon star sky cloud rain snow wind storm fire earth air heat
football tennis basketball game team player ball goal race winner
"""
