a=xxxxxxxx; b=$a$a; c=$b$b; d=$c$c; e=$d$d; f=$e$e; g=$f$f; vllm serve $g$g "$g" ${g}
